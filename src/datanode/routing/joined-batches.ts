/**
 * Batches of many connections for one partition that another node leads travel as one: what comes in
 * within a turn, and for writes what waits with it (`joined-room.ts`), is one request, for writes one
 * sequence of this node's session, and one place in the leader's entry. A batch of one command costs
 * a node most by being a batch.
 *
 * By themselves go writes that may answer much (`short-writes.ts`; EXEC and FLUSHALL are none of the
 * others either), reads of ranges, what is large, and reads of a group that has just answered much:
 * nobody is to wait for what only another connection asked for. So reads of several values
 * (`point-reads.ts`), which wait while the leader writes, are joined only with each other.
 */
import { limits } from '../../common/limits.ts';
import type { CommandBatch, LineResult } from '../partition/entries/batch.ts';
import { lineBytes } from '../partition/entries/envelope.ts';
import { isSinglePoint } from '../partition/reading/read-lines.ts';
import { JoinedRoom, type RoomWorld, type Send } from './joined-room.ts';
import { isPointRead } from './point-reads.ts';
import { answersShortly } from './short-writes.ts';

/** With so many rooms, those that are idle are forgotten. */
const ROOMS_MAX = 1_024;

export class JoinedBatches {
  readonly #world: RoomWorld;
  readonly #send: Send;
  /** By `nameOf`. */
  readonly #rooms = new Map<number, JoinedRoom>();
  #closed = false;

  constructor(world: RoomWorld, send: Send) {
    this.#world = world;
    this.#send = send;
  }

  /**
   * As `send`, at the end of this turn, or for writes when their cohort leaves; results are those of
   * this batch's own lines.
   */
  send(batch: CommandBatch): Promise<readonly LineResult[]> {
    const isSingle = batch.kind === 'read' && isSinglePoint(batch);
    const bytes = this.#closed ? undefined : joinableBytes(batch, isSingle);
    if (bytes === undefined) return this.#send(batch, goneOf(batch));
    const room = this.#roomOf(batch, isSingle);
    return room.isApart ? this.#send(batch) : room.enter(batch, bytes);
  }

  /** Nothing waits any more. */
  close(): void {
    this.#closed = true;
    for (const room of this.#rooms.values()) room.close();
    this.#rooms.clear();
  }

  #roomOf(batch: CommandBatch, isSingle: boolean): JoinedRoom {
    const name = nameOf(batch, isSingle);
    let room = this.#rooms.get(name);
    if (room !== undefined) return room;
    if (this.#rooms.size >= ROOMS_MAX) this.#forgetIdle();
    room = new JoinedRoom(batch.kind, this.#world, this.#send);
    this.#rooms.set(name, room);
    return room;
  }

  #forgetIdle(): void {
    for (const [name, room] of this.#rooms) {
      if (!room.isIdle) continue;
      room.close();
      this.#rooms.delete(name);
    }
  }
}

/** Of a group, a kind and a protocol; reads of one value each are a kind of their own. */
function nameOf({ group = 0, kind, protocol }: CommandBatch, isSingle: boolean): number {
  const which = kind === 'write' ? 0 : isSingle ? 2 : 4;
  return group * 8 + which + (protocol === 2 ? 0 : 1);
}

/** Of a read that goes by itself, and may be long: of others it is not worth to be told. */
function goneOf({ kind, asker }: CommandBatch): AbortSignal | undefined {
  return kind === 'read' ? asker?.signal : undefined;
}

function isOfPoints({ lines, prepared }: CommandBatch): boolean {
  return lines.every((line, at) => prepared?.[at]?.singlePoint || isPointRead(line));
}

/** Undefined: it goes by itself. */
function joinableBytes(batch: CommandBatch, isSingle: boolean): number | undefined {
  const { lines, witness, group, kind } = batch;
  if (witness || !group || lines.length > limits.joinedLinesMax[kind] / 2) return undefined;
  const isSmall = isSingle || (kind === 'read' ? isOfPoints(batch) : lines.every(answersShortly));
  if (!isSmall) return undefined;
  let bytes = 0;
  for (const line of lines) bytes += lineBytes(line);
  return bytes > limits.joinedBytesMax / 2 ? undefined : bytes;
}
