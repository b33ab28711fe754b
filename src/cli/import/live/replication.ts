/**
 * What a source sends, taken as fast as it comes and kept on disk until it is used; a link that breaks
 * is made again, and the stream goes on where it was if the source still has that.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { KvorumError, messageOf } from '../../../common/errors.ts';
import { isHopeless } from '../../hopeless.ts';
import { type Place, ReplicaLink, type Source } from './replica-link.ts';
import { Spool } from './spool.ts';

const ACKNOWLEDGE_MS = 1_000;
const AGAIN_MS = 1_000;
/** Bytes on their way to the disk. */
const PENDING_MAX = 8 * 1_048_576;

/** The source answers, and no longer has what came after the break. */
class Lost extends KvorumError {
  constructor() {
    super(
      'STORE_UNAVAILABLE',
      'the source cannot go on where the link broke (its repl-backlog-size is too small for that, ' +
        'or it was started again): run it again with --begin-anew, which empties what it fills first',
    );
  }
}

export class Replication {
  readonly #source: Source;
  readonly #warn: (text: string) => void;
  readonly picture = new Spool();
  readonly stream = new Spool();
  #link: ReplicaLink | undefined;
  #place: Place = { history: '?', offset: -1 };
  #beganAt = 0;
  #applied = 0;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  #receiving: Promise<void> | undefined;
  #lastMs = performance.now();

  constructor(source: Source, warn: (text: string) => void) {
    this.#source = source;
    this.#warn = warn;
  }

  /** Bytes of the stream that have come. */
  get received(): number {
    return this.#place.offset - this.#beganAt;
  }

  /** Since when nothing but signs of life has come. */
  get quietMs(): number {
    return performance.now() - this.#lastMs;
  }

  /** The source's own count of what has taken effect here. */
  get offset(): number {
    return this.#beganAt + this.#applied;
  }

  /** Bytes of the stream that have taken effect. */
  set applied(bytes: number) {
    this.#applied = bytes;
  }

  /** Something other than a sign of life was read from the stream. */
  noteCommand(): void {
    this.#lastMs = performance.now();
  }

  /** Begins; resolves when the source has begun to send. */
  async start(): Promise<void> {
    const link = await ReplicaLink.open(this.#source);
    this.#link = link;
    const synced = await link.sync(undefined);
    if (synced.kind !== 'full')
      throw new KvorumError('BAD_ARGUMENT', 'the source sends no picture');
    this.#place = synced.place;
    this.#beganAt = synced.place.offset;
    this.#receiving = this.#receive(link);
  }

  /** Takes nothing more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    try {
      if (this.received > 0) this.#link?.acknowledge(this.offset);
    } catch {
      // it has gone
    }
    this.#link?.close();
    await this.#receiving;
  }

  async remove(): Promise<void> {
    await Promise.all([this.picture.remove(), this.stream.remove()]);
  }

  async #receive(first: ReplicaLink): Promise<void> {
    try {
      await first.picture((bytes) => this.#keep(this.picture, bytes));
      this.picture.end();
    } catch (failure) {
      const text = `the source's picture of its data broke off: ${messageOf(failure)}`;
      const cut = new KvorumError('STORE_UNAVAILABLE', text);
      this.picture.end(cut);
      return this.stream.end(cut);
    }
    this.#timer = setInterval(() => this.#link?.acknowledge(this.offset), ACKNOWLEDGE_MS);
    try {
      for (let link = first; !this.#isStopped; link = await this.#again()) await this.#follow(link);
      this.stream.end();
    } catch (failure) {
      this.stream.end(this.#isStopped ? undefined : (failure as Error));
    }
    clearInterval(this.#timer);
  }

  /** Until the link breaks. */
  async #follow(link: ReplicaLink): Promise<void> {
    link.acknowledge(this.offset);
    try {
      while (!this.#isStopped) {
        const bytes = await link.some();
        this.#place = { ...this.#place, offset: this.#place.offset + bytes.length };
        await this.#keep(this.stream, bytes);
      }
    } catch (failure) {
      link.close();
      if (!this.#isStopped) this.#warn(`the link to the source broke: ${messageOf(failure)}`);
    }
  }

  /** Rejects when it was stopped, or when no trying again mends what is wrong. */
  async #again(): Promise<ReplicaLink> {
    for (;;) {
      await sleep(AGAIN_MS);
      if (this.#isStopped) throw new Error('stopped');
      try {
        return await this.#goOn();
      } catch (failure) {
        const isLast = failure instanceof Lost || isHopeless(messageOf(failure));
        if (isLast || this.#isStopped) throw failure;
        this.#warn(`the source cannot be reached: ${messageOf(failure)}`);
      }
    }
  }

  /** Over a new link, where the one before broke. */
  async #goOn(): Promise<ReplicaLink> {
    const link = await ReplicaLink.open(this.#source);
    try {
      const synced = await link.sync(this.#place);
      // while the link was made
      if (this.#isStopped) throw new Error('stopped');
      if (synced.kind !== 'continued') throw new Lost();
      this.#place = { ...this.#place, history: synced.history };
    } catch (failure) {
      link.close();
      throw failure;
    }
    this.#link = link;
    this.#warn('the stream goes on where it was');
    return link;
  }

  async #keep(spool: Spool, bytes: Buffer): Promise<void> {
    const written = spool.append(bytes);
    if (spool.pending > PENDING_MAX) await written;
  }
}
