import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ProcessPlan } from '../../src/cli/cluster-dir.ts';
import { isAlive } from '../../src/cli/run-file.ts';
import { Supervisor } from '../../src/cli/supervisor.ts';

/** A child that does what its config file says; `runs` counts how often it was started. */
const childScript = `
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
const config = process.argv[process.argv.indexOf('--config') + 1];
const { name, runFile, runs, failures, hangs } = JSON.parse(readFileSync(config, 'utf8'));
appendFileSync(runs, Date.now() + '\\n');
if (readFileSync(runs, 'utf8').trim().split('\\n').length <= failures) {
  process.stderr.write('first line\\nno luck\\n');
  process.exit(3);
}
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
process.on('SIGTERM', () => process.exit(0));
// whole or not at all, as processes of kvorum do it
writeFileSync(runFile + '.tmp', JSON.stringify({ name, pid: process.pid, ports: { gateway: 7 } }));
if (!hangs) renameSync(runFile + '.tmp', runFile);
`;

let dir: string;
let script: string;
let lines: string[];
let supervisor: Supervisor | undefined;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kvorum-supervisor-'));
  mkdirSync(join(dir, 'run'));
  script = join(dir, 'child.mjs');
  writeFileSync(script, childScript);
  lines = [];
});

afterEach(async () => {
  await supervisor?.stop();
  supervisor = undefined;
  rmSync(dir, { recursive: true, force: true });
});

interface Behaviour {
  readonly failures?: number;
  /** It is never ready. */
  readonly hangs?: boolean;
}

function plan(name: string, behaviour: Behaviour = {}): ProcessPlan {
  const config = join(dir, `${name}.json`);
  const runFile = join(dir, 'run', `${name}.json`);
  const runs = join(dir, `${name}.runs`);
  writeFileSync(config, JSON.stringify({ name, runFile, runs, failures: 0, ...behaviour }));
  return { name, role: 'datanode', config, runFile, logFile: join(dir, `${name}.log`), ports: {} };
}

function supervise(plans: readonly ProcessPlan[], restart = true, readyMs = 90_000): Supervisor {
  const say = (line: string) => void lines.push(line);
  supervisor = new Supervisor(plans, { script, restart, readyMs, say });
  return supervisor;
}

const pidOf = (name: string): number =>
  JSON.parse(readFileSync(join(dir, 'run', `${name}.json`), 'utf8')).pid;
const startsOf = (name: string): number[] =>
  readFileSync(join(dir, `${name}.runs`), 'utf8')
    .trim()
    .split('\n')
    .map(Number);

describe('a supervisor', () => {
  test('says one line per process that is ready, and leaves none behind', async () => {
    expect(await supervise([plan('n1'), plan('n2')]).start()).toBe(true);
    const pids = [pidOf('n1'), pidOf('n2')];
    expect(lines.sort()).toEqual([
      `n1 ready (pid ${pids[0]}; gateway 7)`,
      `n2 ready (pid ${pids[1]}; gateway 7)`,
    ]);
    await supervisor!.stop();
    expect(pids.map(isAlive)).toEqual([false, false]);
    expect(lines).toHaveLength(2);
  });

  test('starts again what died, later each time, and says why with its last line', async () => {
    await supervise([plan('n1', { failures: 3 })]).start();
    const why = 'n1 ended with exit code 3: no luck; starting it again in';
    expect(lines.slice(0, 3)).toEqual([`${why} 200 ms`, `${why} 400 ms`, `${why} 800 ms`]);
    const [first, second, third, fourth] = startsOf('n1');
    expect(second! - first!).toBeGreaterThanOrEqual(200);
    expect(third! - second!).toBeGreaterThanOrEqual(400);
    expect(fourth! - third!).toBeGreaterThanOrEqual(800);
    const pid = pidOf('n1');
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => lines.at(-1)).toContain('n1 was ended by SIGKILL; starting it again');
    await expect.poll(() => startsOf('n1')).toHaveLength(5);
  });

  test('stops while a child waits to be started again, and starts it no more', async () => {
    const starting = supervise([plan('n1', { failures: 9 })]).start();
    await expect.poll(() => lines.length).toBeGreaterThanOrEqual(2);
    await supervisor!.stop();
    expect(await starting, 'told from a cluster that is ready').toBe(false);
    const starts = startsOf('n1').length;
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(startsOf('n1')).toHaveLength(starts);
  });

  test('told not to restart, says at once who could not start', async () => {
    const starting = supervise([plan('n1'), plan('n2', { failures: 1 })], false).start();
    await expect(starting).rejects.toThrow(/^n2 ended with exit code 3: no luck; see .*n2\.log$/);
  });

  test('of one that is not ready tells its log only if there is something of it', async () => {
    const log = join(dir, 'n1.log');
    const why = async (logged: string) => {
      const starting = supervise([plan('n1', { hangs: true })], true, 500).start();
      // by now it is started
      appendFileSync(log, logged);
      const { message } = (await starting.catch((failure: Error) => failure)) as Error;
      await supervisor!.stop();
      return /^n1 is not ready and got no further for 0\.5 s; (.*)$/.exec(message)?.[1];
    };
    const nothing = `it has logged nothing to ${log} since it was started`;
    expect(await why('')).toBe(`${nothing}: the machine may be busy, or its disk not answer`);
    expect(await why('starting\n')).toBe(`see ${log}`);
    expect(await why('')).toContain(`${nothing}, what is there is of earlier runs`);
  });

  test('of one that ends again and again tells how it did', async () => {
    const starting = supervise([plan('n1', { failures: 100 })], true, 4_000).start();
    await expect(starting).rejects.toThrow(
      /^n1 is not ready .* 4 s; it ended with exit code 3: no luck; see .*n1\.log$/,
    );
  });

  test('blames the one that ends for what keeps others, that wait for it, from being ready', async () => {
    const plans = [plan('n1', { hangs: true }), plan('n2', { failures: 100 })];
    await expect(supervise(plans, true, 4_000).start()).rejects.toThrow(
      /^n2 is not ready .* 4 s; it ended with exit code 3: no luck; see .*n2\.log$/,
    );
  });

  test('told not to restart, leaves the dead dead', async () => {
    await supervise([plan('n1')], false).start();
    process.kill(pidOf('n1'), 'SIGKILL');
    await expect.poll(() => lines.at(-1)).toBe('n1 was ended by SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(startsOf('n1')).toHaveLength(1);
  });
});
