/**
 * Ends the process when one input never ends, whatever it does: a thread of its own sees that the
 * count of inputs stands still, writes the input that is being judged to a file, and says so.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

export interface WatchdogTimes {
  readonly lookMs: number;
  /** So many looks at one input: then it has no end. */
  readonly looks: number;
}

/** 10 s of this process's own time: a machine that stands still stops the looks as well. */
const TEN_SECONDS: WatchdogTimes = { lookMs: 500, looks: 20 };
const INPUT_BYTES_MAX = 256 * 1024;

const program = `
const { workerData } = require('node:worker_threads');
const { writeFileSync, writeSync } = require('node:fs');
const { shared, file, rooms, looks, lookMs } = workerData;
const header = new Int32Array(shared, 0, 3);
const bytes = new Uint8Array(shared, 12);
let [last, same] = [-1, 0];
setInterval(() => {
  const now = Atomics.load(header, 0);
  same = now === last ? same + 1 : 0;
  last = now;
  if (same < looks) return;
  writeFileSync(file, bytes.slice(0, Atomics.load(header, 1)));
  const room = rooms[Atomics.load(header, 2)];
  const again = 'again: npm run fuzz -- --about ' + room + ' --input ' + file;
  writeSync(2, room + ': no end within ' + (looks * lookMs) / 1000 + ' s\\n' + again + '\\n');
  process.kill(process.pid, 'SIGKILL');
}, lookMs);
`;

const HEADER_BYTES = 12;

export class Watchdog {
  readonly #shared = new SharedArrayBuffer(HEADER_BYTES + INPUT_BYTES_MAX);
  /** How many inputs there were, and of the last one its length and its room. */
  readonly #header = new Int32Array(this.#shared, 0, 3);
  readonly #bytes = new Uint8Array(this.#shared, HEADER_BYTES);
  readonly #worker: Worker;

  /** `folder`: where the input that hangs is written. Keeps the process until `end`. */
  constructor(folder: string, rooms: readonly string[], { lookMs, looks } = TEN_SECONDS) {
    mkdirSync(folder, { recursive: true });
    const file = join(folder, 'hang.bin');
    this.#worker = new Worker(program, {
      eval: true,
      workerData: { shared: this.#shared, file, rooms, looks, lookMs },
    });
  }

  /** `input` is what the process looks at from now on; `room`: the number of its room. */
  watch(room: number, input: Buffer): void {
    const some = input.length > INPUT_BYTES_MAX ? input.subarray(0, INPUT_BYTES_MAX) : input;
    this.#bytes.set(some);
    this.#header[1] = some.length;
    this.#header[2] = room;
    Atomics.add(this.#header, 0, 1);
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}
