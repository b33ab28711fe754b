/** Runs of redis-benchmark: its arguments, its figures, and which keys it draws with --cluster. */
import { SLOT_COUNT } from '../src/common/hash.ts';
import { run } from '../tools/children.ts';
import type { keysOf } from './redis-door.ts';
import { type TestName, testOf } from './tests.ts';

/** The tool's -r: keys are drawn from this many. */
export const KEY_SPACE = 1_000_000;

export interface Load {
  readonly test: TestName;
  readonly pipeline: number;
  readonly clients: number;
  readonly valueBytes: number;
}

export interface Target {
  readonly port: number;
  /** Follow the slots of a cluster; each node is asked for its own. */
  readonly cluster: boolean;
  /** The tool's -r. With --cluster it counts per slot the tool uses. */
  readonly keySpace: number;
  /** The hash tags it puts keys under with --cluster, where they are few. */
  readonly tags?: readonly string[] | undefined;
}

export interface Figures {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Runs before the measured one go on until one is hardly faster than the last. */
const WARM_SECONDS = 1.5;
const WARM_RUNS_MAX = 6;
const WARM_GAIN_MAX = 1.07;

/** A tool that uses more uses all of them, though a short run does not come to each. */
const FEW_SLOTS_MAX = 256;

/** A server slower than this, on top of the time any run may take, does not work. */
const LEAST_PER_SECOND = 500;
const TIMEOUT_MS = 120_000;

/**
 * Runs a load for about `seconds`, after runs that warm the server up and tell how many requests
 * that takes (the tool counts requests, not time). `around` measures the last run alone.
 */
export async function measure<T>(
  target: Target,
  load: Load,
  seconds: number,
  around: (work: () => Promise<Figures>) => Promise<T>,
): Promise<T> {
  const least = load.clients * load.pipeline * 4;
  const perSecond = await warmUp(Math.min(WARM_SECONDS, seconds), (warmSeconds, knownPerSecond) => {
    const count =
      knownPerSecond === undefined ? 2_000 * load.pipeline : knownPerSecond * warmSeconds;
    return request(target, load, Math.max(least, count));
  });
  return around(() => request(target, load, Math.max(least, perSecond * seconds)));
}

/**
 * Requests a second of a server that is warm: code that a just-in-time compiler has seen for the
 * first time runs at a third of its speed. `run` makes one run of about so many seconds, with
 * undefined one of any length.
 */
export async function warmUp(
  seconds: number,
  run: (seconds: number, knownPerSecond: number | undefined) => Promise<Figures>,
): Promise<number> {
  let { perSecond } = await run(seconds, undefined);
  for (let runs = 0; runs < WARM_RUNS_MAX; runs++) {
    const before = perSecond;
    ({ perSecond } = await run(seconds, before));
    if (runs > 0 && perSecond < before * WARM_GAIN_MAX) break;
  }
  return perSecond;
}

/** `count` requests of a load; throws when a request is answered by an error. */
export async function request(target: Target, load: Load, count: number): Promise<Figures> {
  const { words, row } = testOf(load.test);
  return ask(target, load, count, words, row);
}

/** Fills what the test of a load reads. */
export async function prepare(target: Target, load: Load): Promise<void> {
  const commands = testOf(load.test).prepare?.(load.valueBytes) ?? [];
  // As many clients as there are go to the nodes in turn: each node is asked several times.
  const few = { ...load, clients: 12, pipeline: 1 };
  for (const words of commands) await ask(target, few, few.clients * 4, words, words.join(' '));
}

async function ask(
  target: Target,
  load: Load,
  count: number,
  words: readonly string[],
  row: string,
): Promise<Figures> {
  const args: (string | number)[] = ['-h', '127.0.0.1', '-p', target.port];
  args.push('-n', Math.round(count), '-c', load.clients, '-P', load.pipeline);
  args.push('-d', load.valueBytes, '-r', target.keySpace, '--csv');
  if (target.cluster) args.push('--cluster');
  const timeoutMs = TIMEOUT_MS + (count / LEAST_PER_SECOND) * 1_000;
  const { stdout, stderr, code } = await run('redis-benchmark', [...args, ...words], { timeoutMs });
  const figures = code === 0 ? parseCsv(stdout, row) : undefined;
  if (figures) return figures;
  throw new Error(`redis-benchmark ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`);
}

/** The row named `name` in the tool's --csv output; undefined when there is none. */
export function parseCsv(text: string, name: string): Figures | undefined {
  const rows = text.split(/[\r\n]+/).map((line) => line.split(',').map(unquote));
  const header = rows.find((row) => row[0] === 'test');
  const row = rows.find((cells) => cells[0] === name);
  if (header === undefined || row === undefined) return undefined;
  const figure = (column: string) => Number(row[header.indexOf(column)] ?? Number.NaN);
  const figures = {
    perSecond: figure('rps'),
    p50Ms: figure('p50_latency_ms'),
    p99Ms: figure('p99_latency_ms'),
  };
  return Object.values(figures).every((n) => Number.isFinite(n)) ? figures : undefined;
}

function unquote(cell: string): string {
  return cell.trim().replace(/^"(.*)"$/, '$1');
}

/**
 * With --cluster the key is `key:{tag}:` and a number below -r, and the tag stands for a slot. Tools
 * before 7.4 use one slot of each node, later ones every slot (redis pull request 12986). So the
 * tool is asked: some requests with -r 1 write one key per slot it uses. Returns the -r for which
 * the whole key space is KEY_SPACE, and the tags of a tool that uses few slots, for who is to ask for the
 * same keys; expects a store without keys, and leaves such a store.
 */
export async function clusterKeySpace(
  port: number,
  keys: Pick<ReturnType<typeof keysOf>, 'count' | 'names' | 'deleteAll'>,
): Promise<Pick<Target, 'keySpace' | 'tags'> & { readonly slots: number }> {
  const load = { test: 'SET', pipeline: 1, clients: 50, valueBytes: 100 } as const;
  await request({ port, cluster: true, keySpace: 1 }, load, 2_000);
  const seen = await keys.count();
  const isEvery = seen > FEW_SLOTS_MAX;
  const tags = isEvery ? undefined : (await keys.names()).map(tagOf);
  await keys.deleteAll();
  if (seen < 1) throw new Error('redis-benchmark --cluster wrote no key');
  const slots = isEvery ? SLOT_COUNT : seen;
  return { keySpace: Math.max(1, Math.round(KEY_SPACE / slots)), slots, tags };
}

function tagOf(key: string): string {
  return /\{(.*?)\}/.exec(key)?.[1] ?? '';
}
