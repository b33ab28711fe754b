/**
 * The last changes of a partition, for nodes whose clients cache its keys (CLIENT TRACKING): kept in
 * the memory of the replica that they ask, and only while they ask. A node asks for what changed
 * behind a place in the log and is answered when there is something, so nothing is lost between two
 * questions, nobody is remembered here, and who asks too late is told so.
 */
import type { Clock, Timer } from '../../../common/clock.ts';
import type { ErrorCode } from '../../../common/errors.ts';
import { Fifo } from '../../../common/fifo.ts';
import type { LogIndex } from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';
import { USER_KEY_AT } from '../../encoding/records/key.ts';
import { tags } from '../../encoding/records/tags.ts';
import type { ChangeSet } from '../../encoding/txn/change-set.ts';
import type { ChangedKeys, ChangesAnswer, ChangesRequest } from '../entries/changes.ts';

/** What all replicas of a node keep of changes, together. */
export interface ChangesRoom {
  bytes: number;
}

export interface FollowedGround {
  readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer' | 'endOfTurn'>;
  isLeader(): boolean;
  /** The last entry known to be committed; those that are being applied are before it. */
  committed(): LogIndex;
  appliedIndex(): LogIndex;
  /** Resolves once a round has confirmed the leader and its index is applied; to why not. */
  confirm(): Promise<{ readonly code: ErrorCode; readonly message: string } | undefined>;
  /** Undefined: no other replica has a part of it. */
  readonly room?: ChangesRoom | undefined;
}

/** What one engine batch changed. */
export interface ChangedBatch {
  readonly index: LogIndex;
  /** Of all its entries. */
  readonly commands: number;
  readonly entries: number;
  readonly changed: ChangeSet;
}

interface Noted extends ChangedKeys {
  readonly atMs: number;
}

interface Held {
  readonly request: ChangesRequest;
  readonly answer: (answer: ChangesAnswer) => void;
}

/** Beside a key: its Buffer and its places, near enough. */
const KEY_BYTES = 112;
/** Who has not been told within this has found out that it hears nothing, and begins anew. */
const NEEDED_MS = limits.trackingProofMs + 3_000;
const NOT_LED: ChangesAnswer = {
  kind: 'failed',
  code: 'NOT_LEADER',
  message: 'this replica does not lead',
};

export class FollowedChanges {
  readonly #ground: FollowedGround;
  readonly #records = new Fifo<Noted>();
  readonly #room: ChangesRoom;
  readonly #held = new Set<Held>();
  /** Undefined while nobody asks; else changes of later entries are all here. */
  #start: LogIndex | undefined;
  #keys = 0;
  #bytes = 0;
  #askedMs = 0;
  #cleared = false;
  #turnAsked = false;
  #timer: Timer | undefined;
  #stopped: ChangesAnswer | undefined;

  constructor(ground: FollowedGround) {
    this.#ground = ground;
    this.#room = ground.room ?? { bytes: 0 };
  }

  /** Somebody asks: commands are to tell which keys they touch. */
  get isFollowed(): boolean {
    return this.#start !== undefined;
  }

  /** All of the partition's data goes with the batch that is noted next; none is while nobody asks. */
  onClear(): void {
    this.#cleared = this.isFollowed;
  }

  /** An engine batch is visible; nobody has been answered for it. */
  note(batch: ChangedBatch): void {
    const all = this.#cleared;
    this.#cleared = false;
    if (this.#start === undefined || batch.index <= this.#start) return this.#wake();
    if (this.#isForgotten()) return this.#forget();
    const keys = all ? [] : keysOf(batch);
    if (keys === undefined || keys.length > 0 || all) {
      const alone = batch.entries === 1 && batch.commands === 1;
      this.#push({ index: batch.index, alone, all: all || keys === undefined, keys: keys ?? [] });
    }
    this.#wake();
  }

  /** A snapshot took the place of the entries up to `index`. */
  skipTo(index: LogIndex): void {
    if (this.#start === undefined) return;
    this.#drop();
    this.#start = Math.max(this.#start, index);
    this.#wake();
  }

  /** Answered when there are changes, or after `limits.changesHoldMs`. */
  async ask(request: ChangesRequest, gone?: AbortSignal): Promise<ChangesAnswer> {
    const { clock, isLeader, committed } = this.#ground;
    if (this.#stopped !== undefined) return this.#stopped;
    if (!request.ofReplica && !isLeader()) return NOT_LED;
    this.#askedMs = clock.monotonicMs();
    this.#start ??= committed();
    this.#timer ??= clock.setTimer(limits.changesForgottenMs, () => this.#look());
    if (request.proves && !request.ofReplica) {
      const failure = await this.#ground.confirm();
      if (failure !== undefined) return { kind: 'failed', ...failure };
    }
    if (this.#hasNews(request)) return this.#answerOf(request);
    // during the round: who asks is to ask again at once, and is not told by its signal any more
    if (gone?.aborted) return NOT_LED;
    return this.#hold(request, gone);
  }

  /** Nobody is held any more who asks the leader. */
  stepDown(): void {
    for (const held of this.#held) if (!held.request.ofReplica) this.#end(held, NOT_LED);
  }

  stop(message: string): void {
    this.#stopped = { kind: 'failed', code: 'STOPPING', message };
    for (const held of this.#held) this.#end(held, this.#stopped);
    this.#forget();
  }

  #hold(request: ChangesRequest, gone: AbortSignal | undefined): Promise<ChangesAnswer> {
    return new Promise((resolve) => {
      const leave = () => this.#end(held, NOT_LED);
      const timer = this.#ground.clock.setTimer(limits.changesHoldMs, () =>
        this.#end(held, this.#answerOf(request)),
      );
      const held: Held = {
        request,
        answer: (answer) => {
          timer.cancel();
          gone?.removeEventListener('abort', leave);
          resolve(answer);
        },
      };
      this.#held.add(held);
      gone?.addEventListener('abort', leave, { once: true });
    });
  }

  #end(held: Held, answer: ChangesAnswer): void {
    if (this.#held.delete(held)) held.answer(answer);
  }

  /** At the end of the turn, with all that it has brought. */
  #wake(): void {
    if (this.#held.size === 0 || this.#turnAsked) return;
    this.#turnAsked = true;
    this.#ground.clock.endOfTurn(() => {
      this.#turnAsked = false;
      for (const held of this.#held) {
        if (this.#hasNews(held.request)) this.#end(held, this.#answerOf(held.request));
      }
    });
  }

  /** What was being applied when the first asked is not known: that has to be over. */
  get #isReady(): boolean {
    return this.#start !== undefined && this.#ground.appliedIndex() >= this.#start;
  }

  #hasNews({ after }: ChangesRequest): boolean {
    if (!this.#isReady) return false;
    return after === undefined || after < this.#start! || (this.#records.last?.index ?? 0) > after;
  }

  #answerOf({ after, proves, ofReplica }: ChangesRequest): ChangesAnswer {
    if (!this.#isReady) return { kind: 'failed', code: 'BUSY', message: 'entries are applied yet' };
    const applied = this.#ground.appliedIndex();
    const proven = proves || ofReplica;
    if (after === undefined || after < this.#start!) {
      return { kind: 'told', upTo: applied, anew: true, proven, changes: [] };
    }
    const changes: ChangedKeys[] = [];
    let bytes = 0;
    // asked for with each batch that is applied: of what was told long ago nothing is looked at
    for (const record of this.#records.itemsBehind(({ index }) => index > after)) {
      if (bytes > limits.changes.answerBytes) {
        return { kind: 'told', upTo: changes.at(-1)!.index, anew: false, proven: false, changes };
      }
      changes.push(record);
      bytes += bytesOf(record);
    }
    return { kind: 'told', upTo: Math.max(after, applied), anew: false, proven, changes };
  }

  #push(record: ChangedKeys): void {
    const nowMs = this.#ground.clock.monotonicMs();
    this.#records.push({ ...record, atMs: nowMs });
    this.#keys += record.keys.length;
    this.#count(bytesOf(record));
    const { kept, keptBytes, spareBytes, nodeBytes } = limits.changes;
    while (this.#keys > kept || this.#bytes > keptBytes) this.#shift();
    while (this.#records.length > kept) this.#shift();
    while (this.#room.bytes > nodeBytes && this.#bytes > spareBytes) this.#shift();
    this.#shiftOld(nowMs);
  }

  #shiftOld(nowMs: number): void {
    for (;;) {
      const { first } = this.#records;
      if (first === undefined || nowMs - first.atMs < NEEDED_MS) return;
      this.#shift();
    }
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#room.bytes += bytes;
  }

  /** Who has not been told of it yet is told that it missed something. */
  #shift(): void {
    const first = this.#records.shift()!;
    this.#keys -= first.keys.length;
    this.#count(-bytesOf(first));
    this.#start = first.index;
  }

  #isForgotten(): boolean {
    const idleMs = this.#ground.clock.monotonicMs() - this.#askedMs;
    return this.#held.size === 0 && idleMs > limits.changesForgottenMs;
  }

  /** Where nothing is written nobody else would notice that nobody asks, or that all are told. */
  #look(): void {
    this.#timer = undefined;
    if (this.#isForgotten()) return this.#forget();
    this.#shiftOld(this.#ground.clock.monotonicMs());
    this.#timer = this.#ground.clock.setTimer(limits.changesForgottenMs, () => this.#look());
  }

  #forget(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#drop();
    this.#start = undefined;
    this.#cleared = false;
  }

  #drop(): void {
    this.#records.clear();
    this.#keys = 0;
    this.#count(-this.#bytes);
  }
}

function bytesOf({ keys }: ChangedKeys): number {
  let bytes = KEY_BYTES;
  for (const key of keys) bytes += key.length + KEY_BYTES;
  return bytes;
}

/** Each once, in memory of its own; undefined: they are too many to look at in a turn. */
function keysOf({ changed }: ChangedBatch): readonly Buffer[] | undefined {
  const names = new Set<string>();
  for (const key of changed.touched ?? []) names.add(key.toString('latin1'));
  let looked = 0;
  for (const { key } of changed.all()) {
    if (++looked > limits.changes.lookedMax) return undefined;
    if (key[0] === tags.key) names.add(key.toString('latin1', USER_KEY_AT));
  }
  if (names.size > limits.changes.lookedMax) return undefined;
  return [...names].map((name) => Buffer.from(name, 'latin1'));
}
