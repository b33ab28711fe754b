/**
 * One room under bent inputs. An input depends on seed and number alone and on what came before it
 * in this room; one that goes a new way through the product is bent further.
 */
import { type Random, seededRandom } from '../../../src/common/random.ts';
import type { Room } from './room.ts';

/** No input may take longer. */
const INPUT_MS_MAX = 1_000;
/** A machine stands still as well: one that was late is judged again, and slow only if it is each time. */
const TRIES = 3;
const KEPT_MAX = 2_000;
const KEPT_BYTES_MAX = 8 * 1024 * 1024;
const WAYS_MAX = 5_000;

export class BadInput extends Error {
  readonly room: string;
  readonly input: Buffer;
  readonly number: number;

  constructor(room: string, number: number, input: Buffer, cause: unknown) {
    const why = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
    super(`${room}: input ${number}: ${why}`, { cause });
    this.room = room;
    this.number = number;
    this.input = input;
  }
}

export interface DriveOptions {
  /** Sees each input before it is judged. */
  readonly watch?: (input: Buffer) => void;
  /** Default: a second. */
  readonly inputMsMax?: number | undefined;
}

export class Drive {
  readonly room: Room;
  readonly ways = new Set<string>();
  /** Inputs judged. */
  count = 0;
  bytes = 0;
  /** Spent in the judge. */
  judgeMs = 0;
  slowestMs = 0;
  readonly #seed: number;
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  readonly #watch: ((input: Buffer) => void) | undefined;
  readonly #inputMsMax: number;

  constructor(room: Room, seed: number, { watch, inputMsMax = INPUT_MS_MAX }: DriveOptions = {}) {
    if (room.seeds.length === 0) throw new Error(`${room.name} has no seeds`);
    this.room = room;
    this.#seed = seed;
    this.#watch = watch;
    this.#inputMsMax = inputMsMax;
  }

  get kept(): number {
    return this.#kept.length;
  }

  get keptBytes(): number {
    return this.#keptBytes;
  }

  /** Judges `inputs` more; the first of all are the seeds as they are. Throws BadInput. */
  async run(inputs: number): Promise<void> {
    for (const end = this.count + inputs; this.count < end; this.count++) {
      const input = this.#next();
      this.#watch?.(input);
      const began = performance.now();
      let way: string;
      try {
        const told = this.room.judge(input);
        way = typeof told === 'string' ? told : await told;
      } catch (cause) {
        throw new BadInput(this.room.name, this.count, input, cause);
      }
      const tookMs = performance.now() - began;
      this.judgeMs += tookMs;
      if (tookMs > this.slowestMs) this.slowestMs = tookMs;
      if (tookMs > this.#inputMsMax) await this.#expectFast(input);
      this.bytes += input.length;
      if (!this.ways.has(way)) this.#keep(way, input);
    }
  }

  #next(): Buffer {
    const { seeds, name } = this.room;
    const { count } = this;
    if (count < seeds.length) return seeds[count]!;
    const random = seededRandom(mixed(this.#seed, name, count));
    return this.room.bend(this.#drawn(random), this.#drawn(random), random);
  }

  #drawn(random: Random): Buffer {
    const { seeds } = this.room;
    if (this.#kept.length > 0 && random.below(2) === 0) {
      return this.#kept[random.below(this.#kept.length)]!;
    }
    return seeds[random.below(seeds.length)]!;
  }

  #keep(way: string, input: Buffer): void {
    if (this.ways.size >= WAYS_MAX) return;
    // a copy: what was cut out of a long text would keep all of it
    this.ways.add(Buffer.from(way).toString());
    if (this.#kept.length >= KEPT_MAX || this.#keptBytes + input.length > KEPT_BYTES_MAX) return;
    // not Buffer.from: a few bytes of the pool would keep eight kibibytes of it
    const own = Buffer.alloc(input.length);
    input.copy(own);
    this.#kept.push(own);
    this.#keptBytes += input.length;
  }

  /** By its own time: on a busy machine a process may stand still for seconds, each time. */
  async #expectFast(input: Buffer): Promise<void> {
    let bestMs = Number.POSITIVE_INFINITY;
    for (let left = TRIES; left > 0 && bestMs > this.#inputMsMax; left--) {
      const began = ownMs();
      await this.room.judge(input);
      bestMs = Math.min(bestMs, ownMs() - began);
    }
    if (bestMs <= this.#inputMsMax) return;
    const text = `took ${bestMs.toFixed(0)} ms, the fastest of ${TRIES} times`;
    throw new BadInput(this.room.name, this.count, input, new Error(text));
  }
}

/** Milliseconds on a core and of waiting for something, without those of waiting for a core. */
function ownMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000 + performance.eventLoopUtilization().idle;
}

function mixed(seed: number, name: string, count: number): number {
  let mix = Math.imul(seed, 0x9e37_79b1) ^ Math.imul(count + 1, 0x85eb_ca6b);
  for (let at = 0; at < name.length; at++) mix = Math.imul(mix ^ name.charCodeAt(at), 0x0100_0193);
  return mix >>> 0;
}
