/**
 * Sessions: what lets a write be sent twice and take effect once. A client numbers its commands;
 * the partition keeps what each answered under session and sequence, until the client says that it
 * has it (`low`, the lowest sequence without an answer). All of it changes in the engine batch that
 * holds the effect, is part of snapshots, and is no user's data: FLUSHALL leaves it.
 *
 * Sessions end by CLOSE, when the log's time has gone on by limits.sessionIdleMs since their use
 * was noted, and the longest unused first when there are more than limits.sessionsMax. That and the
 * removal of old replies is done by those who use sessions, limits.sessionSweepMax at a time.
 * Frozen formats:
 *
 *   session       id                        → u8 version · number u64 · low u64 · first u64 ·
 *                                             next u64 · used u64 ms · order u64
 *   sessionReply  number u64 · sequence u64 → reply, or nothing: it was not kept
 *   sessionKept   number u64 · place u64    → sequence u64; places from first up to next
 *   sessionOrder  order u64                 → id, the longest unused first
 *   sessionEnded  order u64                 → number u64 · first u64 · next u64
 *   system        `sessions`                → u8 version · sessions u64 · replies u64 · their bytes
 *                                             u64 · first order u64 · next order u64 · first ended
 *                                             u64 · next ended u64
 */
import { ByteReader, readU64, writeU64 } from '../../../common/bytes.ts';
import { limits } from '../../../common/limits.ts';
import { unknownVersion } from '../records/record.ts';
import { systemKey } from '../records/system.ts';
import { tags } from '../records/tags.ts';
import type { View, WriteView } from '../txn/view.ts';

/** A command, or a batch of them, that takes effect once. */
export interface OnceMark {
  /** Of the session: 8 to 64 printable bytes. */
  readonly id: Buffer;
  /** From 1 on. */
  readonly sequence: number;
  /** The lowest sequence of the session that has no answer yet. */
  readonly low: number;
}

export type OnceStanding =
  /** It has not run: run it, then `keepOnce`. */
  | { readonly kind: 'new' }
  /** It has run; this is what was kept of its answer, empty: nothing. */
  | { readonly kind: 'kept'; readonly reply: Buffer }
  /** Below the session's low: it is over, whatever became of it. */
  | { readonly kind: 'passed' }
  /** There is no such session: it must not run. */
  | { readonly kind: 'lost' }
  /** Too many replies are unconfirmed: it must not run now. */
  | { readonly kind: 'full' };

interface Session {
  readonly number: number;
  low: number;
  first: number;
  next: number;
  usedMs: number;
  order: number;
}

interface Totals {
  sessions: number;
  replies: number;
  bytes: number;
  firstOrder: number;
  nextOrder: number;
  firstEnded: number;
  nextEnded: number;
}

const TOTALS_KEY = systemKey('sessions');
const VERSION = 1;
const NUMBER_BYTES = 8;
const NOT_KEPT = Buffer.alloc(0);

export function encodeSessionKey(id: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tags.session]), id]);
}

export function encodeSessionReplyKey(number: number, sequence: number): Buffer {
  return numbered(tags.sessionReply, number, sequence);
}

/** Of the session itself, its replies, or what orders them. */
export function isSessionKey(key: Buffer): boolean {
  const tag = key[0]!;
  if (tag >= tags.session && tag <= tags.sessionEnded) return true;
  return tag === tags.system && key.equals(TOTALS_KEY);
}

/** One that is there stays as it is. False: there are too many, and none that could end now. */
export function openSession(view: WriteView, id: Buffer, nowMs: number): boolean {
  const totals = readTotals(view);
  sweep(view, totals, nowMs, limits.sessionsMax - 1);
  const known = readSession(view, id);
  if (known !== undefined) noteUse(view, id, known, totals, nowMs);
  const hasRoom = known !== undefined || totals.sessions < limits.sessionsMax;
  if (known === undefined && hasRoom) {
    const order = totals.nextOrder++;
    totals.sessions++;
    view.put(numbered(tags.sessionOrder, order), id);
    const session = { number: order, low: 1, first: 0, next: 0, usedMs: nowMs, order };
    writeSession(view, id, session);
  }
  writeTotals(view, totals);
  return hasRoom;
}

/** False when there is no such session. */
export function closeSession(view: WriteView, id: Buffer, nowMs: number): boolean {
  const totals = readTotals(view);
  const session = readSession(view, id);
  if (session !== undefined) end(view, id, session, totals);
  sweep(view, totals, nowMs, limits.sessionsMax);
  writeTotals(view, totals);
  return session !== undefined;
}

/** Whether it must not run (again); changes nothing. */
export function hasRun(view: View, { id, sequence, low }: OnceMark): boolean {
  const session = readSession(view, id);
  if (session === undefined || sequence < Math.max(low, session.low)) return true;
  return keptReply(view, session, sequence) !== undefined;
}

/** How a command stands that is about to be applied; notes that its session is used. */
export function askOnce(view: WriteView, mark: OnceMark, nowMs: number): OnceStanding {
  const { id, sequence } = mark;
  const totals = readTotals(view);
  sweep(view, totals, nowMs, limits.sessionsMax);
  const session = readSession(view, id);
  if (session === undefined) {
    writeTotals(view, totals);
    return { kind: 'lost' };
  }
  noteUse(view, id, session, totals, nowMs);
  if (mark.low > session.low) session.low = mark.low;
  removeConfirmed(view, session, totals);
  writeSession(view, id, session);
  writeTotals(view, totals);
  if (sequence < session.low) return { kind: 'passed' };
  const reply = keptReply(view, session, sequence);
  if (reply !== undefined) return { kind: 'kept', reply };
  const isFull =
    session.next - session.first >= limits.sessionKeptMax ||
    totals.replies >= limits.sessionsKeptMax;
  return { kind: isFull ? 'full' : 'new' };
}

/** Most sessions have confirmed all that was kept for them: nothing is looked for then. */
function keptReply(view: View, session: Session, sequence: number): Buffer | undefined {
  if (session.first === session.next) return undefined;
  return view.get(encodeSessionReplyKey(session.number, sequence));
}

/** What it answered, after `askOnce` has found it new. */
export function keepOnce(view: WriteView, { id, sequence }: OnceMark, reply: Buffer): void {
  const session = readSession(view, id);
  if (session === undefined) return; // a command of the same batch has closed it
  const totals = readTotals(view);
  const kept = totals.bytes + reply.length > limits.sessionsBytesMax ? NOT_KEPT : reply;
  view.put(encodeSessionReplyKey(session.number, sequence), kept);
  view.put(numbered(tags.sessionKept, session.number, session.next++), u64(sequence));
  totals.replies++;
  totals.bytes += kept.length;
  writeSession(view, id, session);
  writeTotals(view, totals);
}

/** Replies that the client has are removed, the longest kept first. */
function removeConfirmed(view: WriteView, session: Session, totals: Totals): void {
  for (let left = limits.sessionSweepMax; left > 0 && session.first < session.next; left--) {
    const place = numbered(tags.sessionKept, session.number, session.first);
    if (readU64(view.get(place)!, 0) >= session.low) return;
    removeFirst(view, session, totals);
  }
}

function removeFirst(
  view: WriteView,
  of: { readonly number: number; first: number },
  totals: Totals,
): void {
  const place = numbered(tags.sessionKept, of.number, of.first++);
  const key = encodeSessionReplyKey(of.number, readU64(view.get(place)!, 0));
  totals.bytes -= view.get(key)!.length;
  totals.replies--;
  view.del(place);
  view.del(key);
}

/** So many sessions may stay; some steps at most. */
function sweep(view: WriteView, totals: Totals, nowMs: number, sessionsMax: number): void {
  let left = removeEnded(view, totals, limits.sessionSweepMax);
  while (left-- > 0 && totals.firstOrder < totals.nextOrder) {
    const id = view.get(numbered(tags.sessionOrder, totals.firstOrder));
    if (id !== undefined) {
      const session = readSession(view, id)!;
      const isIdle = nowMs - session.usedMs >= limits.sessionIdleMs;
      if (!isIdle && totals.sessions <= sessionsMax) return;
      end(view, id, session, totals);
    }
    totals.firstOrder++;
  }
}

/** From now on it is not known; its replies go later. */
function end(view: WriteView, id: Buffer, session: Session, totals: Totals): void {
  const { number, first, next, order } = session;
  view.del(encodeSessionKey(id));
  view.del(numbered(tags.sessionOrder, order));
  totals.sessions--;
  if (first < next) {
    view.put(
      numbered(tags.sessionEnded, totals.nextEnded++),
      Buffer.concat([number, first, next].map(u64)),
    );
  }
}

/** How many steps are left of `steps`. */
function removeEnded(view: WriteView, totals: Totals, steps: number): number {
  let left = steps;
  while (left > 0 && totals.firstEnded < totals.nextEnded) {
    const key = numbered(tags.sessionEnded, totals.firstEnded);
    const reader = new ByteReader(view.get(key)!);
    const of = { number: reader.u64(), first: reader.u64() };
    const next = reader.u64();
    for (; left > 0 && of.first < next; left--) removeFirst(view, of, totals);
    if (of.first < next) {
      view.put(key, Buffer.concat([of.number, of.first, next].map(u64)));
      return 0;
    }
    view.del(key);
    totals.firstEnded++;
    left--;
  }
  return left;
}

/** Moves it behind all others when that was last done long ago. */
function noteUse(
  view: WriteView,
  id: Buffer,
  session: Session,
  totals: Totals,
  nowMs: number,
): void {
  if (nowMs - session.usedMs < limits.sessionUseNotedMs) return;
  view.del(numbered(tags.sessionOrder, session.order));
  session.order = totals.nextOrder++;
  session.usedMs = nowMs;
  view.put(numbered(tags.sessionOrder, session.order), id);
  writeSession(view, id, session);
}

function readSession(view: View, id: Buffer): Session | undefined {
  const key = encodeSessionKey(id);
  const bytes = view.get(key);
  if (bytes === undefined) return undefined;
  const [number, low, first, next, usedMs, order] = readNumbers(key, bytes, 6);
  return { number: number!, low: low!, first: first!, next: next!, usedMs: usedMs!, order: order! };
}

function writeSession(view: WriteView, id: Buffer, session: Session): void {
  const { number, low, first, next, usedMs, order } = session;
  view.put(encodeSessionKey(id), encodeNumbers([number, low, first, next, usedMs, order]));
}

function readTotals(view: View): Totals {
  const bytes = view.get(TOTALS_KEY);
  const found = bytes === undefined ? [] : readNumbers(TOTALS_KEY, bytes, 7);
  const [sessions = 0, replies = 0, kept = 0, firstOrder = 0, nextOrder = 0] = found;
  const [firstEnded = 0, nextEnded = 0] = found.slice(5);
  return { sessions, replies, bytes: kept, firstOrder, nextOrder, firstEnded, nextEnded };
}

function writeTotals(view: WriteView, totals: Totals): void {
  const { sessions, replies, bytes, firstOrder, nextOrder, firstEnded, nextEnded } = totals;
  const numbers = [sessions, replies, bytes, firstOrder, nextOrder, firstEnded, nextEnded];
  view.put(TOTALS_KEY, encodeNumbers(numbers));
}

function encodeNumbers(numbers: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(1 + numbers.length * NUMBER_BYTES);
  bytes[0] = VERSION;
  writeNumbers(bytes, numbers);
  return bytes;
}

function readNumbers(key: Buffer, bytes: Buffer, count: number): number[] {
  if (bytes.length !== 1 + count * NUMBER_BYTES || bytes[0] !== VERSION) {
    throw unknownVersion(key, 'session record', bytes[0], VERSION);
  }
  const numbers: number[] = [];
  for (let at = 0; at < count; at++) numbers.push(readU64(bytes, 1 + at * NUMBER_BYTES));
  return numbers;
}

/** Behind the first byte. */
function writeNumbers(bytes: Buffer, numbers: readonly number[]): void {
  for (let at = 0; at < numbers.length; at++) {
    writeU64(bytes, numbers[at]!, 1 + at * NUMBER_BYTES);
  }
}

function numbered(tag: number, ...numbers: readonly number[]): Buffer {
  const key = Buffer.allocUnsafe(1 + numbers.length * NUMBER_BYTES);
  key[0] = tag;
  writeNumbers(key, numbers);
  return key;
}

function u64(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(NUMBER_BYTES);
  writeU64(bytes, value, 0);
  return bytes;
}
