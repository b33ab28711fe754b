/** The rooms of the hot path that are measured alone, in the order a write meets them. */
import { apply, applyPush, applyStreamAdd } from './apply.ts';
import { dispatchGet, dispatchSet } from './dispatch.ts';
import { decodeEntry, encodeEntry } from './envelope.ts';
import { keptValue } from './kept-value.ts';
import { logAppend } from './log-append.ts';
import type { Micro } from './micro.ts';
import { parse } from './parse.ts';
import { raftStep } from './raft-step.ts';
import { encodeBulk, encodeOk } from './reply.ts';

export const rooms = {
  parse,
  'dispatch-set': dispatchSet,
  'dispatch-get': dispatchGet,
  'encode-entry': encodeEntry,
  raft: raftStep,
  'log-append': logAppend,
  'decode-entry': decodeEntry,
  apply,
  'apply-lpush': applyPush,
  'apply-xadd': applyStreamAdd,
  'kept-value': keptValue,
  'encode-ok': encodeOk,
  'encode-bulk': encodeBulk,
} as const satisfies Record<string, Micro>;

export type RoomName = keyof typeof rooms;
export const roomNames = Object.keys(rooms) as readonly RoomName[];
