/**
 * Serves clients that wait, inside the entry that carries them: a key that got a record while the
 * entry was applied is looked at after the command that did it (EXEC is one), those who wait for it
 * are served in their order while it has something, then the keys that this has filled. So nobody
 * sees an element that was somebody's. What each is given is kept under its id, which is served at
 * most once whatever entries carry it. Who waits in a group of a stream is told as well that either is
 * gone.
 */

import { isAsLaterRedis } from '../../commands/rows/apply-versions.ts';
import type { BlockingForm } from '../../commands/rows/command.ts';
import { resolveCommand } from '../../commands/table/table.ts';
import { tooNew, unknownOf } from '../../commands/transactions/unknown.ts';
import { findKey } from '../../encoding/keyspace/keyspace.ts';
import { encodeKey } from '../../encoding/records/key.ts';
import { findServed, forgetServed, keepServed } from '../../encoding/sessions/served.ts';
import type { Txn } from '../../encoding/txn/txn.ts';
import { encodeReply } from '../../resp/encode-reply.ts';
import { error, type Reply } from '../../resp/reply.ts';
import type { CommandLine } from '../entries/batch.ts';
import { blockingRequest } from '../entries/blocking-request.ts';
import type { CarriedWaiter, WaitingPart } from '../entries/waiter-codec.ts';
import { type ApplyContext, applyLine, isPauseDue } from './apply-lines.ts';

/** A reply that a waiter was given: bytes of its protocol. */
export interface Served {
  readonly id: Buffer;
  readonly reply: Reply;
}

/** Kept for a later leader when there is no room for the reply: never a second element. */
export const NOT_KEPT = encodeReply(
  error(
    'DONE the command was carried out, but its reply was lost with a leader and was not ' +
      'kept, for its size; what it took is lost to this client',
  ),
  2,
);

/** As Redis 7.0 says it: in entries before `laterRedis`. */
const NO_STREAM = error('UNBLOCKED the stream key no longer exists');
const NO_GROUP = error('NOGROUP the consumer group this client was blocked on no longer exists');

interface Candidate {
  readonly waiter: CarriedWaiter;
  readonly form: BlockingForm;
  served: boolean;
}

export class Serving {
  readonly served: Served[] = [];
  readonly #txn: Txn;
  readonly #context: ApplyContext;
  readonly #waiting: WaitingPart;
  /** As in Redis 7.2, who waits for what is gone is told what it would be told if it asked now. */
  readonly #isLater: boolean;
  /** In the order in which they are served. */
  readonly #candidates: Candidate[] = [];
  /** By the engine key of a key's record. */
  readonly #byPlace = new Map<string, { readonly key: Buffer; readonly waiting: Candidate[] }>();
  /** Places to be looked at, in the order in which they were filled. */
  readonly #filled = new Set<string>();
  /** Waiters and ids looked at: thousands of them are several turns' work. */
  #looked = 0;

  constructor(txn: Txn, context: ApplyContext, waiting: WaitingPart) {
    this.#txn = txn;
    this.#context = context;
    this.#waiting = waiting;
    this.#isLater = isAsLaterRedis(context);
  }

  /** Before the first command. */
  async begin(): Promise<void> {
    const { ready, waiters, confirmed } = this.#waiting;
    for (const id of confirmed) {
      if (this.#isPauseDue()) await this.#context.pace.pause();
      forgetServed(this.#txn, id);
    }
    for (const waiter of waiters) {
      if (this.#isPauseDue()) await this.#context.pace.pause();
      const form = blockingOf(waiter.line);
      if (form === undefined || findServed(this.#txn, waiter.id) !== undefined) continue;
      const candidate = { waiter, form, served: false };
      this.#candidates.push(candidate);
      this.#index(candidate);
    }
    for (const key of ready) this.#fill(encodeKey(key));
    const fill = (place: Buffer) => this.#fill(place);
    const isOfStreams = this.#candidates.some(({ form }) => form.type === 'stream');
    // for others it would be another order in which keys are filled than that of builds before streams
    this.#txn.observeKeys(fill, isOfStreams ? fill : undefined);
  }

  /** `serveFilled` has something to do. */
  get hasFilled(): boolean {
    return this.#filled.size > 0;
  }

  /** After each command. */
  async serveFilled(): Promise<void> {
    while (this.#filled.size > 0) {
      const place: string = this.#filled.values().next().value!;
      this.#filled.delete(place);
      const { key, waiting } = this.#byPlace.get(place)!;
      let type = this.#typeOf(key);
      /** Groups that have nothing more for anybody in them. */
      const dry = new Set<string>();
      for (const candidate of waiting) {
        const { form, waiter } = candidate;
        const group = form.group?.toString('latin1');
        if (candidate.served || (group !== undefined && dry.has(group))) continue;
        if (type !== form.type && (group === undefined || waiter.asked)) continue;
        if (this.#isPauseDue()) await this.#context.pace.pause();
        if (type !== form.type && !this.#isLater) this.#give(candidate, NO_STREAM);
        else await this.#serve(candidate, waiter.asked ? undefined : form.only(key));
        if (group !== undefined && !candidate.served) dry.add(group);
        // only what is given changes it: thousands who wait for more ask for nothing
        type = this.#typeOf(key);
      }
    }
  }

  /** After the last command: those that were sent when it was not known what there is. */
  async finish(): Promise<void> {
    await this.serveFilled();
    for (const candidate of this.#candidates) {
      if (candidate.served || !candidate.waiter.asked) continue;
      if (this.#isPauseDue()) await this.#context.pace.pause();
      await this.#serve(candidate, undefined);
      await this.serveFilled();
    }
    this.leave();
  }

  /** Nothing more is observed. */
  leave(): void {
    this.#txn.observeKeys(undefined);
  }

  /** What comes of it does not depend on it: nobody else changes the transaction meanwhile. */
  #isPauseDue(): boolean {
    return isPauseDue(this.#looked++, this.#context.pace);
  }

  #index(candidate: Candidate): void {
    for (const key of candidate.form.keys) {
      const place = encodeKey(key).toString('latin1');
      const known = this.#byPlace.get(place);
      if (known === undefined) this.#byPlace.set(place, { key, waiting: [candidate] });
      else if (known.waiting.at(-1) !== candidate) known.waiting.push(candidate);
    }
  }

  #fill(place: Buffer): void {
    const name = place.toString('latin1');
    if (this.#byPlace.has(name)) this.#filled.add(name);
  }

  #typeOf(key: Buffer): string | undefined {
    return findKey(this.#txn, key, this.#context.nowMs).live?.type;
  }

  /** `line`: undefined for the request as it was sent. */
  async #serve(candidate: Candidate, line: CommandLine | undefined): Promise<void> {
    const { waiter, form } = candidate;
    const reply = await applyLine(this.#txn, line ?? waiter.line, this.#context);
    if (reply.kind === 'null' || reply.kind === 'nullArray') return;
    const isGone = form.type === 'stream' && line !== undefined && isNoGroup(reply);
    this.#give(candidate, isGone && !this.#isLater ? NO_GROUP : reply);
  }

  #give(candidate: Candidate, reply: Reply): void {
    const { waiter } = candidate;
    candidate.served = true;
    const bytes = encodeReply(reply, waiter.protocol);
    keepServed(this.#txn, waiter.id, bytes, NOT_KEPT);
    this.served.push({ id: waiter.id, reply: { kind: 'encoded', bytes } });
  }
}

function isNoGroup(reply: Reply): boolean {
  return reply.kind === 'error' && reply.text.startsWith('NOGROUP ');
}

/** Throws TOO_NEW: whom a newer build serves, this one cannot (see `applyLine`). */
function blockingOf(line: CommandLine): BlockingForm | undefined {
  const unknown = unknownOf(resolveCommand(line), line, resolveCommand);
  if (unknown !== undefined) throw tooNew(unknown);
  return blockingRequest(line);
}
