/** The fuzzer's command line; `npm run fuzz -- --help`. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BadInput, Drive } from './engine/drive.ts';
import { inMiB, MemoryCheck } from './engine/memory.ts';
import { Watchdog } from './engine/watchdog.ts';
import { type RoomName, rooms } from './rooms/all.ts';

const HELP = `Bends valid inputs of every door, and watches what the product does with them.

  npm run fuzz -- [options]

  --inputs N       how many, over all rooms by their shares (default 100000)
  --minutes N      ends after so many minutes at the latest
  --about ROOM     one room alone: ${Object.keys(rooms).join(', ')}
  --seed N         draws other inputs (default 1)
  --input FILE     judges this one input of the room that --about names, and ends
  --help           this text

A failing input is written to .cache/fuzz-inputs and named with the command that judges it again. The
same seed and number of inputs give the same inputs. Ends with exit code 1 at the first that fails:
an exception, more than 1 s, or memory that grows.`;

/** Each round gives every room its share of so many. */
const ROUND_INPUTS = 5_000;
const REPORT_MS = 10_000;
const inputsFolder = '.cache/fuzz-inputs';

/** Ctrl-C ends with what was judged until then; a second one at once. */
let interrupted = false;
process.once('SIGINT', () => {
  interrupted = true;
});

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      inputs: { type: 'string', default: '100000' },
      minutes: { type: 'string' },
      about: { type: 'string' },
      seed: { type: 'string', default: '1' },
      input: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    say(HELP);
    return 0;
  }
  const names = Object.keys(rooms) as RoomName[];
  if (values.about !== undefined && !(values.about in rooms)) {
    say(`--about: one of ${names.join(', ')}`);
    return 2;
  }
  const chosen = values.about === undefined ? names : [values.about as RoomName];
  if (values.input !== undefined) return judgeOne(chosen[0]!, values.input);
  const minutes = values.minutes === undefined ? Number.POSITIVE_INFINITY : Number(values.minutes);
  return fuzz(chosen, {
    inputs: Number(values.inputs),
    seed: Number(values.seed),
    untilMs: Date.now() + minutes * 60_000,
  });
}

async function judgeOne(name: RoomName, file: string): Promise<number> {
  const room = await rooms[name]();
  const began = performance.now();
  say(`${name}: ${await room.judge(readFileSync(file))}`);
  say(`${(performance.now() - began).toFixed(1)} ms`);
  await room.close?.();
  return 0;
}

interface Plan {
  readonly inputs: number;
  readonly seed: number;
  readonly untilMs: number;
}

async function fuzz(names: readonly RoomName[], plan: Plan): Promise<number> {
  const watchdog = new Watchdog(inputsFolder);
  const opened = await Promise.all(names.map((name) => rooms[name]()));
  const drives = opened.map((room) => {
    return new Drive(room, plan.seed, { watch: (input) => watchdog.watch(input) });
  });
  const memory = new MemoryCheck();
  const began = performance.now();
  try {
    await runAll(drives, plan, memory, began);
  } catch (failure) {
    say(table(drives));
    if (!(failure instanceof BadInput)) throw failure;
    say(`${failure.message}\nagain: ${kept(failure)}`);
    return 1;
  } finally {
    await watchdog.end();
    for (const room of opened) await room.close?.();
  }
  say(table(drives));
  say(summary(drives, plan, memory, performance.now() - began));
  const grown = memory.problem();
  if (grown !== undefined) say(grown);
  return grown === undefined ? 0 : 1;
}

/** Rounds until all inputs are judged or time is up; memory is measured after each report. */
async function runAll(
  drives: readonly Drive[],
  plan: Plan,
  memory: MemoryCheck,
  began: number,
): Promise<void> {
  const shares = drives.reduce((sum, { room }) => sum + room.share, 0);
  const wanted = new Map(
    drives.map((drive) => [drive, Math.ceil((plan.inputs * drive.room.share) / shares)] as const),
  );
  const total = [...wanted.values()].reduce((sum, count) => sum + count, 0);
  let reported = began;
  for (;;) {
    let left = 0;
    for (const drive of drives) {
      const due = wanted.get(drive)! - drive.count;
      const part = Math.ceil((ROUND_INPUTS * drive.room.share) / shares);
      await drive.run(Math.min(due, part));
      left += wanted.get(drive)! - drive.count;
    }
    const now = performance.now();
    if (left === 0 || interrupted || Date.now() >= plan.untilMs) break;
    if (now - reported < REPORT_MS) continue;
    reported = now;
    const held = memory.measure(drives.reduce((sum, drive) => sum + drive.keptBytes, 0));
    const rate = (total - left) / ((now - began) / 1_000);
    say(
      `${total - left} of ${total} inputs, ${rate.toFixed(0)}/s, ${duration(left / rate)} left, ` +
        `${inMiB(held)} MiB held (${inMiB(memory.grownBytes)} grown)`,
    );
    const grown = memory.problem();
    if (grown !== undefined) throw new Error(grown);
  }
  memory.measure(drives.reduce((sum, drive) => sum + drive.keptBytes, 0));
}

function table(drives: readonly Drive[]): string {
  const lines = drives.map(({ room, count, judgeMs, slowestMs, ways, kept: some, bytes }) => {
    const rate = count / (judgeMs / 1_000);
    return [
      room.name.padEnd(10),
      String(count).padStart(10),
      rate.toFixed(0).padStart(9),
      String(ways.size).padStart(6),
      String(some).padStart(6),
      inMiB(bytes).padStart(10),
      slowestMs.toFixed(0).padStart(9),
    ].join('');
  });
  return `room          inputs inputs/s  ways  kept        MiB   slowest ms\n${lines.join('\n')}`;
}

/** With how long ten million would take at this pace, each room with its share. */
function summary(
  drives: readonly Drive[],
  { seed }: Plan,
  memory: MemoryCheck,
  tookMs: number,
): string {
  const count = drives.reduce((sum, drive) => sum + drive.count, 0);
  const { user, system } = process.cpuUsage();
  const [took, cpu] = [tookMs / 1_000, (user + system) / 1_000_000];
  const tenMillion = (seconds: number) => duration((seconds / count) * 10_000_000);
  return (
    `${count} inputs of seed ${seed} in ${duration(took)} (${duration(cpu)} of CPU), none failed; ` +
    `memory grew by ${inMiB(memory.grownBytes)} MiB; ten million at this pace: ` +
    `${tenMillion(took)} (${tenMillion(cpu)} of CPU)`
  );
}

function duration(seconds: number): string {
  if (seconds < 100) return `${seconds.toFixed(1)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}

/** Writes the input down; returns the command that judges it again. */
function kept({ room, number, input }: BadInput): string {
  mkdirSync(inputsFolder, { recursive: true });
  const file = join(inputsFolder, `${room}-${number}.bin`);
  writeFileSync(file, input);
  return `npm run fuzz -- --about ${room} --input ${file}`;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

process.exitCode = await main();
