/**
 * Instructions of one command, counted by `perf stat` where the machine has a counter and allows it.
 * Two runs of one program, one of more commands than the other: the difference has neither the start
 * of Node.js nor the warming up in it. The count hardly depends on what else the machine does.
 */
import { run } from '../../tools/children.ts';

const EVENT = 'instructions:u';
const TIMEOUT_MS = 120_000;

/** The count in what `perf stat -x, -e instructions:u` printed, or why there is none. */
export function parseCount(text: string): number | string {
  const line = text.split('\n').find((one) => one.includes(EVENT));
  if (line === undefined) {
    const [said = ''] = text.trim().split('\n');
    return `perf says: ${said}`;
  }
  const [count = ''] = line.split(',');
  const value = Number(count);
  return count !== '' && Number.isFinite(value) ? value : `perf says: ${count || line}`;
}

/** Why instructions cannot be counted here; undefined when they can. */
export async function noInstructions(): Promise<string | undefined> {
  try {
    const counted = await count(process.execPath, ['-e', '0']);
    return typeof counted === 'string' ? counted : undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Instructions of a program in user space, or why they were not counted. */
export async function count(
  command: string,
  args: readonly (string | number)[],
): Promise<number | string> {
  const perf = ['stat', '-x,', '-e', EVENT, '--', command, ...args];
  const { stdout, stderr, code } = await run('perf', perf, { timeoutMs: TIMEOUT_MS });
  const counted = parseCount(stderr);
  if (code !== 0 && typeof counted === 'number') throw new Error(`${command}: ${stdout}${stderr}`);
  return counted;
}
