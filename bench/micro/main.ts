/** `npm run bench:micro`: see `--help`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { killAll, run } from '../../tools/children.ts';
import { inTerminal } from '../sheet.ts';
import { count, noInstructions } from './instructions.ts';
import { type MicroOptions, microHelp, parseMicroOptions } from './options.ts';
import { type MicroFigure, microSheet } from './report.ts';
import type { RoomName } from './rooms.ts';
import type { Slices } from './slices.ts';

const program = join(fileURLToPath(new URL('.', import.meta.url)), 'program.js');
const START_MS = 60_000;
/** Commands of the shorter run, in which V8 compiles, and of the longer one. */
const COUNTED = [100_000, 300_000] as const;

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(options: MicroOptions): Promise<void> {
  const before = options.against === undefined ? [] : earlier(options.against);
  const why = await noInstructions();
  say(
    `${options.only.length} rooms, about ${Math.ceil(options.only.length * (options.seconds + 1))} s`,
  );
  const figures: MicroFigure[] = [];
  for (const room of options.only) {
    const slices = await timesOf(room, options.seconds);
    const instructions = why === undefined ? await instructionsOf(room) : undefined;
    figures.push({ room, ...slices, ...(instructions !== undefined && { instructions }) });
  }
  for (const line of inTerminal(microSheet(figures, before, why))) say(line);
  if (options.json === undefined) return;
  writeFileSync(options.json, `${JSON.stringify(figures, null, 2)}\n`);
  say(`\nthe figures are in ${options.json}`);
}

async function timesOf(room: RoomName, seconds: number): Promise<Slices> {
  const timeoutMs = START_MS + seconds * 10_000;
  const args = [program, room, 'seconds', seconds];
  const { stdout, stderr, code } = await run(process.execPath, args, { timeoutMs });
  if (code !== 0) throw new Error(`${room}: ${stderr}`);
  return JSON.parse(stdout) as Slices;
}

async function instructionsOf(room: RoomName): Promise<number | undefined> {
  const [few, many] = COUNTED;
  const counts: (number | string)[] = [];
  for (const commands of COUNTED) {
    // one thread compiles and collects as it goes, the same way each time
    const args = ['--single-threaded', program, room, 'commands', commands];
    counts.push(await count(process.execPath, args));
  }
  const [least, most] = counts;
  if (typeof least !== 'number' || typeof most !== 'number') return undefined;
  return (most - least) / (many - few);
}

function earlier(path: string): MicroFigure[] {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as MicroFigure[];
  } catch (error) {
    throw new Error(`--against ${path}: not the --json of an earlier run`, { cause: error });
  }
}

process.once('exit', killAll);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(130));
}
try {
  const options = parseMicroOptions(process.argv.slice(2));
  if (options.help) say(microHelp);
  else await main(options);
} catch (error) {
  process.stderr.write(`bench:micro: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
