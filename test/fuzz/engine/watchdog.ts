/**
 * Ends the process when one input never ends, whatever it does: a thread of its own sees that the
 * count of inputs stands still, writes the input that is being judged to a file, and says so.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

export interface WatchdogTimes {
  readonly lookMs: number;
  /** So many looks at one input, and the process had a core for half of that: then it has no end. */
  readonly looks: number;
  /** So many and it had none: it waits for ever, unless others take all cores. */
  readonly looksWaiting: number;
}

const defaultTimes: WatchdogTimes = { lookMs: 500, looks: 20, looksWaiting: 240 };
const INPUT_BYTES_MAX = 256 * 1024;

const program = `
const { workerData } = require('node:worker_threads');
const { writeFileSync, writeSync } = require('node:fs');
const { shared, file, rooms, times } = workerData;
const header = new Int32Array(shared, 0, 3);
const bytes = new Uint8Array(shared, 12);
const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
let [last, same, since] = [-1, 0, 0];
setInterval(() => {
  const now = Atomics.load(header, 0);
  if (now !== last) {
    [last, same, since] = [now, 0, cpuMs()];
    return;
  }
  same++;
  const ran = cpuMs() - since >= (times.looks * times.lookMs) / 2;
  if (same < (ran ? times.looks : times.looksWaiting)) return;
  writeFileSync(file, bytes.slice(0, Atomics.load(header, 1)));
  const room = rooms[Atomics.load(header, 2)];
  const again = 'again: npm run fuzz -- --about ' + room + ' --input ' + file;
  writeSync(2, room + ': no end within ' + (same * times.lookMs) / 1000 + ' s\\n' + again + '\\n');
  process.kill(process.pid, 'SIGKILL');
}, times.lookMs);
`;

const HEADER_BYTES = 12;

export class Watchdog {
  readonly #shared = new SharedArrayBuffer(HEADER_BYTES + INPUT_BYTES_MAX);
  /** How many inputs there were, and of the last one its length and its room. */
  readonly #header = new Int32Array(this.#shared, 0, 3);
  readonly #bytes = new Uint8Array(this.#shared, HEADER_BYTES);
  readonly #worker: Worker;

  /** `folder`: where the input that hangs is written. Keeps the process until `end`. */
  constructor(folder: string, rooms: readonly string[], times = defaultTimes) {
    mkdirSync(folder, { recursive: true });
    const file = join(folder, 'hang.bin');
    this.#worker = new Worker(program, {
      eval: true,
      workerData: { shared: this.#shared, file, rooms, times },
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
