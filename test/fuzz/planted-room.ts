/** The fuzzer over one room with a planted fault; a process of its own, since one fault ends it. */
import { setTimeout as wait } from 'node:timers/promises';
import { fuzz } from './engine/campaign.ts';
import type { Room } from './engine/room.ts';

const FAULTY_FROM = 6_000;
const kept: Buffer[] = [];

/** What it does with inputs from the 6,000th on. */
const faults: Readonly<Record<string, () => string | Promise<string>>> = {
  none: () => 'taken',
  spins: () => {
    for (;;);
  },
  waits: () => new Promise(() => {}),
  late: () => wait(150, 'late'),
  leaks: () => String(kept.push(Buffer.alloc(4_000)) % 7),
  throws: () => {
    throw new TypeError('nothing is not a function');
  },
};

const [fault = '', folder = ''] = process.argv.slice(2);
let judged = 0;
const room: Room = {
  name: 'planted',
  share: 100,
  seeds: [Buffer.from('seed')],
  bend: () => Buffer.from(`input ${judged}`),
  judge: () => (judged++ < FAULTY_FROM ? 'taken' : faults[fault]!()),
};

process.exitCode = await fuzz([room], {
  inputs: 60_000,
  seed: 1,
  untilMs: Date.now() + 60_000,
  folder,
  say: (text) => process.stdout.write(`${text}\n`),
  isInterrupted: () => false,
  reportMs: 0,
  watchdog: { lookMs: 100, looks: 20, looksWaiting: 40 },
  inputMsMax: 100,
});
