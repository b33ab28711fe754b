/**
 * What a replica's engine says about itself, written in the same atomic batch as the data: how far
 * the log is applied, the group's configuration and time. Frozen format, version 1.
 */
import { ByteRangeError, ByteReader, ByteWriter } from '../../../common/bytes.ts';
import { KvorumError } from '../../../common/errors.ts';
import type { Epoch, LogIndex, ReplicaId, Term } from '../../../common/ids.ts';
import type { Membership } from '../../../meta/schema.ts';
import type { ConfState } from '../../raft/message.ts';

const STATE_VERSION = 1;

export interface ReplicaState {
  /** Last applied entry; 0/0 for a new replica. */
  readonly index: LogIndex;
  readonly term: Term;
  /** Time of the newest applied entry: deadlines up to it have passed for ever. */
  readonly timeMs: number;
  /** Of the wanted record that the newest membership change served (decision 17). */
  readonly epoch: Epoch;
  readonly confState: ConfState;
}

/** What `before` is once the entry at `index` is applied, which changes no more than the time. */
export function stateAt(
  { index, term }: Pick<ReplicaState, 'index' | 'term'>,
  { epoch, confState }: ReplicaState,
  timeMs: number,
): ReplicaState {
  return { index, term, timeMs, epoch, confState };
}

/** As it is reported: who votes, in both halves of a joint configuration, and who learns. */
export function membershipOf({ epoch, confState }: ReplicaState, confirmed: boolean): Membership {
  const { voters, votersOutgoing, learners } = confState;
  const all = [...new Set([...voters, ...votersOutgoing])];
  return { epoch, voters: all, learners, joint: votersOutgoing.length > 0 || !confirmed };
}

export function encodeState(state: ReplicaState): Buffer {
  const writer = new ByteWriter(128)
    .u8(STATE_VERSION)
    .u64(state.index)
    .u64(state.term)
    .u64(state.timeMs)
    .u64(state.epoch);
  encodeConfState(writer, state.confState);
  return writer.finish();
}

export function encodeConfState(writer: ByteWriter, conf: ConfState): void {
  for (const ids of [conf.voters, conf.votersOutgoing, conf.learners, conf.learnersNext]) {
    writer.u16(ids.length);
    for (const id of ids) writer.u64(id);
  }
  writer.u8(conf.autoLeave ? 1 : 0);
}

/** The same members, named in the same order. */
export function isSameConf(a: ConfState, b: ConfState): boolean {
  return confBytes(a).equals(confBytes(b));
}

function confBytes(confState: ConfState): Buffer {
  const writer = new ByteWriter(128);
  encodeConfState(writer, confState);
  return writer.finish();
}

/** `where` names the replica in the error. */
export function decodeState(bytes: Buffer, where: string): ReplicaState {
  try {
    const reader = new ByteReader(bytes);
    const version = reader.u8();
    if (version !== STATE_VERSION) {
      throw new KvorumError(
        version > STATE_VERSION ? 'TOO_NEW' : 'CORRUPT',
        `${where}: replica state of version ${version}, this build reads ${STATE_VERSION}; ` +
          'upgrade kvorum on this node',
      );
    }
    const state = {
      index: reader.u64(),
      term: reader.u64(),
      timeMs: reader.u64(),
      epoch: reader.u64(),
      confState: decodeConfState(reader),
    };
    reader.end();
    return state;
  } catch (cause) {
    if (!(cause instanceof ByteRangeError)) throw cause;
    throw new KvorumError('CORRUPT', `${where}: replica state: ${cause.message}`, { cause });
  }
}

export function decodeConfState(reader: ByteReader): ConfState {
  const ids = () => {
    const list: ReplicaId[] = [];
    for (let left = reader.u16(); left > 0; left--) list.push(reader.u64());
    return list;
  };
  return {
    voters: ids(),
    votersOutgoing: ids(),
    learners: ids(),
    learnersNext: ids(),
    autoLeave: reader.u8() === 1,
  };
}
