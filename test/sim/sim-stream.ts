/** The two ends of one simulated connection, and the bytes on their way between them. */
import { assert } from '../../src/common/assert.ts';
import { crc32 } from '../../src/common/checksum.ts';
import type { ByteStream, StreamHandlers } from '../../src/common/network.ts';
import type { Random } from '../../src/common/random.ts';
import type { Scheduler, SimEvent } from './scheduler.ts';

/** What the system takes from a writer before the other side has it. */
const SYSTEM_BYTES = 64 * 1024;
const HIGH_WATER_BYTES = 16 * 1024;

export interface SimWire {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly splitChance: number;
  readonly mergeChance: number;
  readonly bytesPerMs: number;
  /** Ends with something on the way: what a healed cut sets in motion again. */
  readonly pending: Set<SimEnd>;
  latencyMs(): number;
  /** Whether the next so many bytes go that way. */
  passes(from: string, to: string, bytes: number): boolean;
  /** Runs as an event of its own, once the node's process is not stopped. */
  whenAwake(node: string, run: () => void): void;
  /** Whether something answers for a life of `node` that has ended. */
  answersDead(node: string): boolean;
}

interface Place {
  readonly node: string;
  readonly port: number;
  /** Live ends of the same life. */
  readonly ends: Set<SimEnd>;
}

type Item = { readonly dueMs: number } & (
  | { readonly kind: 'data'; readonly bytes: Uint8Array }
  | { readonly kind: 'fin' | 'reset' }
);

export function networkError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** `a` is the dialer: no other end has its port. */
export function connectEnds(wire: SimWire, a: Place, b: Place): [SimEnd, SimEnd] {
  const one = new SimEnd(wire, a, `${b.node}:${b.port}`, a.port);
  const other = new SimEnd(wire, b, `${a.node}:${a.port}`, -a.port);
  one.peer = other;
  other.peer = one;
  return [one, other];
}

export class SimEnd implements ByteStream {
  readonly remote: string;
  readonly local: string;
  readonly node: string;
  readonly localPort: number;
  peer: SimEnd = this;
  readonly #wire: SimWire;
  /** In traces. */
  readonly #number: number;
  readonly #ends: Set<SimEnd>;
  #handlers: StreamHandlers | undefined;
  /** On the way to the peer, in order. */
  #out: Item[] = [];
  #outBytes = 0;
  #lastDueMs = 0;
  #lagMs = 0;
  /** Its side has given up while what it wrote is on its way: it answers nothing that comes. */
  #lingers = false;
  #pumpAtMs = Number.POSITIVE_INFINITY;
  #pumping: SimEvent | undefined;
  #paused = false;
  #drainWanted = false;
  #finSent = false;
  #closed = false;
  #crashed = false;

  constructor(wire: SimWire, place: Place, remote: string, number: number) {
    this.#wire = wire;
    this.#number = number;
    this.node = place.node;
    this.localPort = place.port;
    this.local = `${place.node}:${place.port}`;
    this.#ends = place.ends;
    this.remote = remote;
    place.ends.add(this);
  }

  get bufferedBytes(): number {
    return Math.max(0, this.#outBytes - SYSTEM_BYTES);
  }

  attach(handlers: StreamHandlers): void {
    assert(this.#handlers === undefined, 'attached twice');
    this.#handlers = handlers;
    this.peer.pump();
  }

  write(bytes: Uint8Array): boolean {
    if (this.#finSent || this.#closed || bytes.length === 0) return true;
    this.#outBytes += bytes.length;
    // the writer may write over them as soon as the system has them
    this.#send({ kind: 'data', bytes: Buffer.from(bytes), dueMs: this.#dueMs(bytes.length) });
    this.#drainWanted ||= this.bufferedBytes >= HIGH_WATER_BYTES;
    return this.bufferedBytes < HIGH_WATER_BYTES;
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.peer.pump();
  }

  end(): void {
    if (this.#finSent || this.#closed) return;
    this.#finSent = true;
    this.#send({ kind: 'fin', dueMs: this.#dueMs(0) });
  }

  destroy(error?: Error): void {
    if (this.#closed) return;
    this.#dropOut();
    this.#send({ kind: 'reset', dueMs: this.#dueMs(0) });
    this.#close(error);
  }

  /** Ends without telling the other side. */
  abort(error: Error): void {
    if (this.#closed) return;
    this.#dropOut();
    this.#close(error);
  }

  /** From now on what is written here arrives so much later; nothing overtakes what was before it. */
  lag(byMs: number): void {
    this.#lagMs = byMs;
  }

  /**
   * This side gives the connection up. What it had written is still on its way, as it is when a
   * system goes on to send for a process that has closed, and then a reset; until that has come the
   * other side knows nothing.
   */
  linger(error: Error): void {
    if (this.#closed) return;
    this.#lingers = true;
    this.#send({ kind: 'reset', dueMs: this.#dueMs(0) });
    this.#close(error);
  }

  /** The process of this end is gone: its handlers are never called again. */
  crash(silent: boolean): void {
    this.#crashed = true;
    this.#closed = true;
    this.#handlers = undefined;
    this.#ends.delete(this);
    if (silent) this.#dropOut();
    else this.#send({ kind: 'reset', dueMs: this.#dueMs(0) });
  }

  /** Moves what is due to the peer; called again when a cut heals or the peer reads on. */
  pump(): void {
    const head = this.#out[0];
    if (head === undefined) this.#wire.pending.delete(this);
    if (head === undefined || !this.#passes(head)) return;
    const waitMs = head.dueMs - this.#wire.scheduler.nowMs;
    if (waitMs > 0) this.#pumpAfter(waitMs);
    else if (this.peer.#closed) this.#toTheDead();
    else if (this.peer.#handlers !== undefined) {
      if (head.kind !== 'data') this.#pumpAfter(0);
      else if (!this.peer.#paused) this.#pumpAfter(0);
    }
  }

  #passes(item: Item): boolean {
    const bytes = item.kind === 'data' ? item.bytes.length : 0;
    return this.#wire.passes(this.node, this.peer.node, bytes);
  }

  #send(item: Item): void {
    this.#out.push(item);
    this.#wire.pending.add(this);
    this.pump();
  }

  #dueMs(bytes: number): number {
    const { scheduler, bytesPerMs } = this.#wire;
    const earliest = scheduler.nowMs + this.#wire.latencyMs() + this.#lagMs;
    this.#lastDueMs = Math.max(this.#lastDueMs, earliest) + bytes / bytesPerMs;
    return this.#lastDueMs;
  }

  /** One pending event at a time; an earlier one replaces a later. */
  #pumpAfter(waitMs: number): void {
    const { scheduler } = this.#wire;
    const atMs = scheduler.nowMs + waitMs;
    if (atMs >= this.#pumpAtMs) return;
    this.#pumpAtMs = atMs;
    this.#pumping?.cancel();
    this.#pumping = scheduler.after(waitMs, () => {
      this.#pumpAtMs = Number.POSITIVE_INFINITY;
      this.#deliver();
    });
  }

  #deliver(): void {
    const { scheduler } = this.#wire;
    const head = this.#out[0];
    if (head === undefined || !this.#passes(head)) return;
    if (head.dueMs > scheduler.nowMs || this.peer.#closed) {
      this.pump();
      return;
    }
    if (this.peer.#handlers === undefined) return;
    if (head.kind === 'data') {
      if (this.peer.#paused) return;
      this.#deliverData();
    } else {
      this.#out.shift();
      scheduler.note(`${this.node}>${this.peer.node} ${head.kind}`);
      this.peer.#ended(head.kind);
    }
    this.pump();
  }

  #deliverData(): void {
    const { scheduler, random, splitChance, mergeChance } = this.#wire;
    const parts: Uint8Array[] = [];
    do {
      const item = this.#out[0];
      if (item?.kind !== 'data' || item.dueMs > scheduler.nowMs || !this.#passes(item)) break;
      this.#out.shift();
      parts.push(item.bytes);
    } while (random.float() < mergeChance);
    // what is written may change behind the writer's back; what arrives is nobody else's
    let chunk = parts.length === 1 ? Buffer.from(parts[0]!) : Buffer.concat(parts);
    if (chunk.length > 1 && random.float() < splitChance) {
      const at = 1 + random.below(chunk.length - 1);
      const dueMs = scheduler.nowMs + random.float();
      this.#out.unshift({ kind: 'data', bytes: chunk.subarray(at), dueMs });
      chunk = chunk.subarray(0, at);
    }
    this.#outBytes -= chunk.length;
    scheduler.noteNumbers(this.#number, crc32(chunk));
    this.#drain();
    this.peer.#handlers?.onData(chunk);
  }

  #drain(): void {
    if (!this.#drainWanted || this.bufferedBytes > 0 || this.#closed) return;
    this.#drainWanted = false;
    this.#wire.whenAwake(this.node, () => {
      if (!this.#closed) this.#handlers?.onDrain?.();
    });
  }

  /** The peer has gone: its system answers with a reset, or nobody does. */
  #toTheDead(): void {
    this.#dropOut();
    if (this.peer.#lingers) return;
    if (this.#closed || (this.peer.#crashed && !this.#wire.answersDead(this.peer.node))) return;
    this.#wire.scheduler.after(this.#wire.latencyMs(), () => {
      if (!this.#wire.passes(this.peer.node, this.node, 0)) return;
      this.#close(networkError('ECONNRESET', 'connection reset by peer'));
    });
  }

  #ended(kind: 'fin' | 'reset'): void {
    if (kind === 'fin') {
      this.end(); // as node's sockets do: what is written still leaves
      this.#close(undefined);
    } else {
      this.#dropOut();
      this.#close(networkError('ECONNRESET', 'connection reset by peer'));
    }
  }

  #dropOut(): void {
    this.#wire.pending.delete(this);
    this.#out = [];
    this.#outBytes = 0;
  }

  #close(error: Error | undefined): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#ends.delete(this);
    const handlers = this.#handlers;
    this.#wire.whenAwake(this.node, () => {
      if (!this.#crashed) handlers?.onClose(error);
    });
  }
}
