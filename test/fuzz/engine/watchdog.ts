/**
 * Ends the process when one input never ends, whatever it does: a thread of its own sees that the
 * count of inputs stands still, writes the input that is being judged to a file, and says so.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

const LOOK_MS = 500;
/** 10 s of this process's own time: a machine that stands still stops the looks as well. */
const LOOKS = 20;
const INPUT_BYTES_MAX = 256 * 1024;

const program = `
const { workerData } = require('node:worker_threads');
const { writeFileSync, writeSync } = require('node:fs');
const count = new Int32Array(workerData.shared, 0, 2);
const bytes = new Uint8Array(workerData.shared, 8);
let [last, same] = [-1, 0];
setInterval(() => {
  const now = Atomics.load(count, 0);
  same = now === last ? same + 1 : 0;
  last = now;
  if (same < workerData.looks) return;
  writeFileSync(workerData.file, bytes.slice(0, Atomics.load(count, 1)));
  writeSync(2, 'no end within 10 s: the input is in ' + workerData.file + '\\n');
  process.kill(process.pid, 'SIGKILL');
}, workerData.lookMs);
`;

export class Watchdog {
  readonly #shared = new SharedArrayBuffer(8 + INPUT_BYTES_MAX);
  readonly #count = new Int32Array(this.#shared, 0, 2);
  readonly #bytes = new Uint8Array(this.#shared, 8);
  readonly #worker: Worker;

  /** `folder`: where the input that hangs is written. */
  constructor(folder: string) {
    mkdirSync(folder, { recursive: true });
    const file = join(folder, 'hang.bin');
    this.#worker = new Worker(program, {
      eval: true,
      workerData: { shared: this.#shared, file, looks: LOOKS, lookMs: LOOK_MS },
    });
    this.#worker.unref();
  }

  /** `input` is what the process looks at from now on. */
  watch(input: Buffer): void {
    const some = input.length > INPUT_BYTES_MAX ? input.subarray(0, INPUT_BYTES_MAX) : input;
    this.#bytes.set(some);
    Atomics.store(this.#count, 1, some.length);
    Atomics.add(this.#count, 0, 1);
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}
