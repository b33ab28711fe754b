/**
 * Raft messages in the body of a `raft` frame: one after the other, those of all groups together,
 * so the heartbeats of a turn are compact tuples of some ten bytes each. Type numbers are frozen.
 *
 *   message  u8 type · varint group, from, to, term · fields of the type as varints
 *   entry    varint term, index · u8 kind · bytes data
 *
 * A type never gets other fields: then it gets another number, and PROTOCOL_VERSION grows. 5 to 8
 * were votes and their answers in version 1, without what is committed; 4 the answer to a heartbeat
 * in version 2, without promises.
 *
 * Decoded entries' data are views into the body they came in (which the decoder copied once).
 */
import { unreachable } from '../../common/assert.ts';
import { limits } from '../../common/limits.ts';
import type { ConfState, Entry, EntryKind, Snapshot, WireMessage } from '../raft/message.ts';
import { BodyReader, badFrame, type FrameWriter } from './frame.ts';
import type { GroupMessage } from './transport.ts';

const typeNumbers = {
  append: 1,
  appendResponse: 2,
  heartbeat: 3,
  heartbeatResponse: 24,
  vote: 20,
  preVote: 21,
  voteResponse: 22,
  preVoteResponse: 23,
  snapshot: 9,
  timeoutNow: 10,
  forgetLeader: 11,
  transferLeader: 12,
  propose: 13,
  readIndex: 14,
  readIndexResponse: 15,
  gone: 16,
  sleep: 17,
  asleep: 18,
  sleepers: 19,
} as const satisfies Record<WireMessage['type'], number>;

const typeNames = new Map<number, WireMessage['type']>();
for (const name of Object.keys(typeNumbers) as WireMessage['type'][]) {
  typeNames.set(typeNumbers[name], name);
}

const kindNumbers = { normal: 0, confChange: 1, confChangeV2: 2 } as const;
const kindNames: readonly EntryKind[] = ['normal', 'confChange', 'confChangeV2'];

/** More than a message without entries can take: type and ten varints. */
const MESSAGE_BYTES = 96;
const ENTRY_BYTES = 24;
const REPLICA_BYTES = 8;

/** An upper bound of the encoded size. */
export function messageBytes(message: WireMessage): number {
  switch (message.type) {
    case 'append':
    case 'propose': {
      let bytes = MESSAGE_BYTES;
      for (const entry of message.entries) bytes += ENTRY_BYTES + entry.data.length;
      return bytes;
    }
    case 'snapshot': {
      const { confState, data } = message.snapshot;
      const replicas =
        confState.voters.length +
        confState.votersOutgoing.length +
        confState.learners.length +
        confState.learnersNext.length;
      return MESSAGE_BYTES + replicas * REPLICA_BYTES + data.length;
    }
    default:
      return MESSAGE_BYTES;
  }
}

/** Snapshots, and whatever is large, go on the bulk connection (decision 19). */
export function isBulk(message: WireMessage, bytes: number): boolean {
  return message.type === 'snapshot' || bytes > limits.frameSmallBytesMax;
}

export function encodeMessage(w: FrameWriter, group: number, m: WireMessage): void {
  w.u8(typeNumbers[m.type]).varint(group).varint(m.from).varint(m.to).varint(m.term);
  switch (m.type) {
    case 'append':
      w.varint(m.index).varint(m.logTerm).varint(m.commit).varint(m.entries.length);
      for (const entry of m.entries) encodeEntry(w, entry);
      return;
    case 'appendResponse':
      w.varint(m.index)
        .varint(m.logTerm)
        .u8(m.reject ? 1 : 0);
      w.varint(m.rejectHint).varint(m.commit);
      return;
    case 'heartbeat':
      w.varint(m.commit).varint(m.readContext);
      return;
    case 'heartbeatResponse':
      w.varint(m.readContext).u8(m.promised ? 1 : 0);
      return;
    case 'readIndex':
      w.varint(m.readContext);
      return;
    case 'vote':
    case 'preVote':
      w.varint(m.index)
        .varint(m.logTerm)
        .u8(m.transfer ? 1 : 0);
      w.varint(m.commit).varint(m.commitTerm);
      return;
    case 'voteResponse':
    case 'preVoteResponse':
      w.u8(m.reject ? 1 : 0);
      w.varint(m.commit).varint(m.commitTerm);
      return;
    case 'snapshot':
      encodeSnapshot(w, m.snapshot);
      return;
    case 'timeoutNow':
    case 'forgetLeader':
    case 'transferLeader':
    case 'gone':
      return;
    case 'propose':
      w.varint(m.entries.length);
      for (const entry of m.entries) w.u8(kindNumbers[entry.kind]).bytes(entry.data);
      return;
    case 'readIndexResponse':
      w.varint(m.readContext).varint(m.index);
      return;
    case 'sleep':
      w.varint(m.index).varint(m.commit);
      return;
    case 'asleep':
      w.varint(m.index).u8(m.reject ? 1 : 0);
      return;
    case 'sleepers':
      w.varint(m.count).varint(m.digest);
      return;
    default:
      unreachable(m);
  }
}

/** All messages of a body, in order; throws KvorumError BAD_FRAME. */
export function decodeMessages(body: Buffer): GroupMessage[] {
  const reader = new BodyReader(body);
  const messages: GroupMessage[] = [];
  while (reader.remaining > 0) {
    reader.items(1);
    messages.push(decodeMessage(reader));
  }
  return messages;
}

function decodeMessage(r: BodyReader): GroupMessage {
  const number = r.u8();
  const type = typeNames.get(number);
  if (type === undefined) throw badFrame(`unknown raft message type ${number}`);
  const group = r.varint();
  const from = r.varint();
  const to = r.varint();
  const term = r.varint();
  return { group, message: decodeFields(r, type, { from, to, term }) };
}

interface Envelope {
  readonly from: number;
  readonly to: number;
  readonly term: number;
}

function decodeFields(
  r: BodyReader,
  type: WireMessage['type'],
  { from, to, term }: Envelope,
): WireMessage {
  switch (type) {
    case 'append': {
      const [index, logTerm, commit] = [r.varint(), r.varint(), r.varint()];
      return { type, from, to, term, index, logTerm, commit, entries: decodeMany(r, decodeEntry) };
    }
    case 'appendResponse': {
      const [index, logTerm, reject] = [r.varint(), r.varint(), r.flag()];
      return {
        type,
        from,
        to,
        term,
        index,
        logTerm,
        reject,
        rejectHint: r.varint(),
        commit: r.varint(),
      };
    }
    case 'heartbeat':
      return { type, from, to, term, commit: r.varint(), readContext: r.varint() };
    case 'heartbeatResponse': {
      const [readContext, promised] = [r.varint(), r.flag()];
      return { type, from, to, term, readContext, ...(promised && { promised }) };
    }
    case 'readIndex':
      return { type, from, to, term, readContext: r.varint() };
    case 'vote':
    case 'preVote': {
      const [index, logTerm, transfer] = [r.varint(), r.varint(), r.flag()];
      return {
        type,
        from,
        to,
        term,
        index,
        logTerm,
        transfer,
        commit: r.varint(),
        commitTerm: r.varint(),
      };
    }
    case 'voteResponse':
    case 'preVoteResponse':
      return { type, from, to, term, reject: r.flag(), commit: r.varint(), commitTerm: r.varint() };
    case 'snapshot':
      return { type, from, to, term, snapshot: decodeSnapshot(r) };
    case 'timeoutNow':
    case 'forgetLeader':
    case 'transferLeader':
    case 'gone':
      return { type, from, to, term };
    case 'propose':
      return { type, from, to, term, entries: decodeMany(r, decodeProposed) };
    case 'readIndexResponse':
      return { type, from, to, term, readContext: r.varint(), index: r.varint() };
    case 'sleep':
      return { type, from, to, term, index: r.varint(), commit: r.varint() };
    case 'asleep':
      return { type, from, to, term, index: r.varint(), reject: r.flag() };
    case 'sleepers':
      return { type, from, to, term, count: r.varint(), digest: r.varint() };
    default:
      return unreachable(type);
  }
}

function encodeEntry(w: FrameWriter, entry: Entry): void {
  w.varint(entry.term).varint(entry.index).u8(kindNumbers[entry.kind]).bytes(entry.data);
}

function decodeEntry(r: BodyReader): Entry {
  return { term: r.varint(), index: r.varint(), kind: decodeKind(r), data: r.bytes() };
}

function decodeProposed(r: BodyReader): { kind: EntryKind; data: Buffer } {
  return { kind: decodeKind(r), data: r.bytes() };
}

function decodeKind(r: BodyReader): EntryKind {
  const number = r.u8();
  const kind = kindNames[number];
  if (kind === undefined) throw badFrame(`unknown entry kind ${number}`);
  return kind;
}

function encodeSnapshot(w: FrameWriter, { index, term, confState, data }: Snapshot): void {
  w.varint(index).varint(term);
  encodeIds(w, confState.voters);
  encodeIds(w, confState.votersOutgoing);
  encodeIds(w, confState.learners);
  encodeIds(w, confState.learnersNext);
  w.u8(confState.autoLeave ? 1 : 0).bytes(data);
}

function decodeSnapshot(r: BodyReader): Snapshot {
  const [index, term] = [r.varint(), r.varint()];
  const confState: ConfState = {
    voters: decodeIds(r),
    votersOutgoing: decodeIds(r),
    learners: decodeIds(r),
    learnersNext: decodeIds(r),
    autoLeave: r.flag(),
  };
  return { index, term, confState, data: r.bytes() };
}

function encodeIds(w: FrameWriter, ids: readonly number[]): void {
  w.varint(ids.length);
  for (const id of ids) w.varint(id);
}

function decodeIds(r: BodyReader): number[] {
  return decodeMany(r, (reader) => reader.varint());
}

/** A count, then as many items: a lying count ends at the body. */
function decodeMany<T>(r: BodyReader, decode: (r: BodyReader) => T): T[] {
  const count = r.items(r.varint());
  const items: T[] = [];
  for (let i = 0; i < count; i++) items.push(decode(r));
  return items;
}
