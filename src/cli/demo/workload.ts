/** Writes of many clients at once, and what they were told of them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../common/errors.ts';
import { ClientError, ReplyError } from '../../sdk/index.ts';
import type { KeyKind, Told } from './told.ts';

/** What is wanted of a client of the SDK. */
export interface Writer {
  incr(key: string): Promise<number>;
  rpush(key: string, element: number): Promise<number>;
  set(key: string, value: number): Promise<unknown>;
}

export interface WorkloadOptions {
  /** Used in turn by the workers. */
  readonly writers: readonly Writer[];
  /** Each has one write under way at any time. */
  readonly workers: number;
  readonly kinds: readonly KeyKind[];
  /** Counters, and lists, that all workers share; registers have one worker each. */
  readonly keys: number;
  /** Begins every key. */
  readonly prefix: string;
}

export interface Progress {
  /** Acknowledged writes. */
  readonly acknowledged: number;
  /** Writes that were not acknowledged: their clients got an error. */
  readonly errors: number;
  /** The longest that any client waited, or waits now, for the answer to one write. */
  readonly longestPauseMs: number;
}

interface Ledger extends Told {
  readonly acknowledged: number[];
  readonly unknown: number[];
  /** Elements and values are numbers that grow. */
  sent: number;
}

const AFTER_ERROR_MS = 50;
const ERROR_TEXTS_MAX = 20;

/** Begins to write when it is made. */
export class Workload {
  readonly #options: WorkloadOptions;
  readonly #ledgers = new Map<string, Ledger>();
  readonly #errorTexts: string[] = [];
  /** When the write of each worker was sent; undefined between two. */
  readonly #sentMs: (number | undefined)[];
  readonly #workers: Promise<void>[];
  #running = true;
  #acknowledged = 0;
  #errors = 0;
  #longestMs = 0;

  constructor(options: WorkloadOptions) {
    this.#options = options;
    this.#sentMs = new Array(options.workers).fill(undefined);
    this.#workers = Array.from({ length: options.workers }, (_, worker) => this.#work(worker));
  }

  /** What clients were told so far, of every key. */
  get told(): readonly Told[] {
    return [...this.#ledgers.values()];
  }

  /** The first errors that clients got. */
  get errorTexts(): readonly string[] {
    return this.#errorTexts;
  }

  progress(): Progress {
    const now = performance.now();
    const waits = this.#sentMs.map((sentMs) => (sentMs === undefined ? 0 : now - sentMs));
    return {
      acknowledged: this.#acknowledged,
      errors: this.#errors,
      longestPauseMs: Math.max(this.#longestMs, ...waits),
    };
  }

  /** Resolves when no write is under way any more; no other begins. */
  async stop(): Promise<void> {
    this.#running = false;
    await Promise.all(this.#workers);
  }

  async #work(worker: number): Promise<void> {
    const { writers, kinds, keys, prefix } = this.#options;
    const writer = writers[worker % writers.length]!;
    for (let turn = worker; this.#running; turn++) {
      const kind = kinds[turn % kinds.length]!;
      const number = kind === 'register' ? worker : Math.floor(turn / kinds.length) % keys;
      const ledger = this.#ledger(kind, `${prefix}:${kind}:${number}`);
      const value = ++ledger.sent;
      const sentMs = performance.now();
      this.#sentMs[worker] = sentMs;
      const failure = await write(writer, ledger, value);
      this.#sentMs[worker] = undefined;
      this.#longestMs = Math.max(this.#longestMs, performance.now() - sentMs);
      if (failure === undefined) this.#acknowledged++;
      else await this.#failed(ledger, failure);
    }
  }

  async #failed(ledger: Ledger, failure: unknown): Promise<void> {
    this.#errors++;
    if (this.#errorTexts.length < ERROR_TEXTS_MAX) {
      this.#errorTexts.push(`${ledger.key}: ${messageOf(failure)}`);
    }
    await sleep(AFTER_ERROR_MS);
  }

  #ledger(kind: KeyKind, key: string): Ledger {
    let ledger = this.#ledgers.get(key);
    if (ledger === undefined) {
      ledger = { kind, key, acknowledged: [], unknown: [], sent: 0 };
      this.#ledgers.set(key, ledger);
    }
    return ledger;
  }
}

/** Resolves with the failure, noting what it says of the write. */
async function write(writer: Writer, ledger: Ledger, value: number): Promise<unknown> {
  const { kind, key, acknowledged, unknown } = ledger;
  try {
    if (kind === 'counter') acknowledged.push(await writer.incr(key));
    else {
      await (kind === 'list' ? writer.rpush(key, value) : writer.set(key, value));
      acknowledged.push(value);
    }
    return undefined;
  } catch (failure) {
    if (!isUndone(failure)) unknown.push(value);
    return failure ?? 'an error without a text';
  }
}

/** The client was told that the write had no effect and will have none. */
function isUndone(failure: unknown): boolean {
  return failure instanceof ReplyError || (failure instanceof ClientError && failure.retriable);
}
