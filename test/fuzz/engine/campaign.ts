/** Rooms driven side by side, each by its share, with all that is watched: what a run of the fuzzer is. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BadInput, Drive } from './drive.ts';
import { inMiB, MemoryCheck } from './memory.ts';
import type { Room } from './room.ts';
import { Watchdog, type WatchdogTimes } from './watchdog.ts';

/** Each round gives every room its share of so many. */
const ROUND_INPUTS = 5_000;
const REPORT_MS = 10_000;

export interface Campaign {
  /** Over all rooms. */
  readonly inputs: number;
  readonly seed: number;
  /** By Date.now(). */
  readonly untilMs: number;
  /** Where an input that fails is written. */
  readonly folder: string;
  say(text: string): void;
  /** Asked after each round: what was judged until then is told. */
  isInterrupted(): boolean;
  /** Between reports, each with a look at the memory; default 10 s. */
  readonly reportMs?: number;
  readonly watchdog?: WatchdogTimes;
  /** No input may take longer; default 1 s. */
  readonly inputMsMax?: number;
}

/**
 * Of an error's way only its end: most inputs are refused, and the way was the dearest part of that. The
 * command that judges a failing input again shows all of it.
 */
const FRAMES_SHOWN = 2;

/** The exit code: 1 when an input failed or memory grew. Rooms are closed in the end. */
export async function fuzz(rooms: readonly Room[], plan: Campaign): Promise<number> {
  const { say } = plan;
  Error.stackTraceLimit = FRAMES_SHOWN;
  const names = rooms.map(({ name }) => name);
  const watchdog = new Watchdog(plan.folder, names, plan.watchdog);
  const drives = rooms.map((room, at) => {
    const watch = (input: Buffer) => watchdog.watch(at, input);
    return new Drive(room, plan.seed, { watch, inputMsMax: plan.inputMsMax });
  });
  const memory = new MemoryCheck();
  const began = performance.now();
  try {
    await runAll(drives, plan, memory);
  } catch (failure) {
    say(table(drives));
    if (!(failure instanceof BadInput)) throw failure;
    say(`${failure.message}\nagain: ${kept(failure, plan.folder)}`);
    return 1;
  } finally {
    await watchdog.end();
    for (const room of rooms) await room.close?.();
  }
  say(table(drives));
  const grown = memory.problem();
  say(grown ?? summary(drives, plan, memory, performance.now() - began));
  return grown === undefined ? 0 : 1;
}

/** Rounds until all inputs are judged, time is up, or memory has grown, which is measured at each report. */
async function runAll(
  drives: readonly Drive[],
  plan: Campaign,
  memory: MemoryCheck,
): Promise<void> {
  const { reportMs = REPORT_MS } = plan;
  const began = performance.now();
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
    if (left === 0 || plan.isInterrupted() || Date.now() >= plan.untilMs) break;
    if (now - reported < reportMs) continue;
    reported = now;
    const held = memory.measure(drives.reduce((sum, drive) => sum + drive.keptBytes, 0));
    const rate = (total - left) / ((now - began) / 1_000);
    plan.say(
      `${total - left} of ${total} inputs, ${rate.toFixed(0)}/s, ${duration(left / rate)} left, ` +
        `${inMiB(held)} MiB held (${inMiB(memory.grownBytes)} grown)`,
    );
    if (memory.problem() !== undefined) return;
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
  { seed }: Campaign,
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
function kept({ room, number, input }: BadInput, folder: string): string {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${room}-${number}.bin`);
  writeFileSync(file, input);
  return `npm run fuzz -- --about ${room} --input ${file}`;
}
