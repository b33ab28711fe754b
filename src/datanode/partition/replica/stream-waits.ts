/** What clients that wait for entries of streams ask of their replica: reads, and what groups have not read. */
import type { Clock } from '../../../common/clock.ts';
import { limits } from '../../../common/limits.ts';
import type { ReadRun } from '../../commands/rows/command.ts';
import { compareIds, formatStreamId } from '../../encoding/records/stream-id.ts';
import { encodeGroupKey } from '../../encoding/records/stream-key.ts';
import { readStream } from '../../encoding/streams/stream.ts';
import { decodeGroup } from '../../encoding/streams/stream-group.ts';
import { createView } from '../../encoding/txn/txn.ts';
import type { View } from '../../encoding/txn/view.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Protocol } from '../../resp/reply.ts';
import type { CommandBatch, CommandLine } from '../entries/batch.ts';
import type { Reads } from '../reading/reads.ts';
import { mayHaveBehind } from '../waiting/reading-request.ts';
import type { GroupStanding } from '../waiting/ready-groups.ts';
import { StreamReaders } from '../waiting/stream-readers.ts';

export interface StreamWaitGround {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  engine(): Engine;
  nowMs(): number;
  clearing(): boolean;
  requestTurn(): void;
}

/** A read that the replica itself asks for, for a client that waits. */
export interface OwnRead {
  readonly line: CommandLine;
  readonly run: ReadRun;
  readonly protocol: Protocol;
  readonly singlePoint: boolean;
}

export function ownBatch(
  { line, run, protocol, singlePoint }: OwnRead,
  clock: StreamWaitGround['clock'],
): CommandBatch {
  return {
    namespace: '',
    partition: 0,
    kind: 'read',
    lines: [line],
    prepared: [{ run, singlePoint }],
    protocol,
    term: undefined,
    deadlineMs: clock.monotonicMs() + limits.holdMs,
  };
}

export function createReaders(ground: StreamWaitGround, reads: Reads): StreamReaders {
  const { engine, nowMs, clearing, requestTurn, clock } = ground;
  return new StreamReaders({
    read: async (read) => {
      requestTurn();
      return (await reads.gather(ownBatch({ ...read, singlePoint: false }, clock)))[0]!;
    },
    readAgain: async (read) =>
      (await reads.again(ownBatch({ ...read, singlePoint: false }, clock)))[0]!,
    mayHaveBehind: (key, id) => mayHaveBehind(createView(engine()), key, id, nowMs()),
    clearing,
    requestTurn,
  });
}

/** What the stream under `key` has for its groups. */
export function groupStandings(
  view: View,
  key: Buffer,
  nowMs: number,
): (group: Buffer) => GroupStanding {
  const stream = readStream(view, key, nowMs);
  if (stream === undefined || stream === 'wrong-type') return () => 'gone';
  return (group) => {
    const place = encodeGroupKey(stream.place, group);
    const record = view.get(place);
    if (record === undefined) return 'gone';
    const { lastId } = decodeGroup(place, record);
    if (stream.size === 0 || compareIds(stream.lastId, lastId) <= 0) return undefined;
    return `${formatStreamId(stream.lastId)} ${formatStreamId(lastId)}`;
  };
}
