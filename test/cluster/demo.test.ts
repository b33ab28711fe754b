/** `kvorum demo` as a person runs it; whatever happens, nothing of it stays behind. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DemoReport } from '../../src/cli/demo/report.ts';
import { isAlive } from '../../src/cli/run-file.ts';
import { eventually, kvorum } from './cluster.ts';

const run = promisify(execFile);
/** Where the command puts what is temporary. */
let temporary: string;

beforeEach(() => {
  temporary = mkdtempSync(join(tmpdir(), 'kvorum-demo-test-'));
});

afterEach(() => rmSync(temporary, { recursive: true, force: true }));

const environment = () => ({ ...process.env, TMPDIR: temporary });
const demo = (...args: string[]) => [kvorum, 'demo', 'kill-leader', ...args];

/** Processes of the cluster that is there now. */
function processIds(): number[] {
  return readdirSync(temporary, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\/run\/[^/]+\.json$/.test(name))
    .map((name) => JSON.parse(readFileSync(join(temporary, name), 'utf8')).pid as number);
}

test('a killed leader costs no write, no error and no process', async () => {
  const options = ['--seconds', '4', '--kills', '1', '--partitions', '6', '--json'];
  const { stdout } = await run(process.execPath, demo(...options), {
    ...{ env: environment(), timeout: 230_000 },
  });
  const report = JSON.parse(stdout) as DemoReport;
  expect(report).toMatchObject({
    ...{ acknowledgedWritesLost: 0, duplicates: 0, unexpected: 0, clientErrors: 0 },
    ...{ findings: [], errors: [], partitions: 6 },
  });
  expect(report.acknowledgedWrites).toBeGreaterThan(100);
  expect(report.longestPauseMs).toBeGreaterThan(0);
  expect(report.kills).toHaveLength(1);
  const [kill] = report.kills;
  expect(kill!.led).toBeGreaterThanOrEqual(2);
  expect(isAlive(kill!.pid)).toBe(false);
  expect(readdirSync(temporary)).toEqual([]);
}, 240_000);

describe('Ctrl-C', () => {
  let child: ChildProcess;
  let said = '';

  /** A group of its own, as a terminal gives it; resolves when it has said `text`. */
  async function startAndHear(text: string): Promise<void> {
    said = '';
    child = spawn(process.execPath, demo(), {
      ...{ env: environment(), detached: true, stdio: ['ignore', 'pipe', 'inherit'] },
    });
    child.stdout?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    await eventually(90_000, `${text} is said`, () => said.includes(text));
  }

  /** To the whole group; resolves with the exit code. */
  async function interrupt(): Promise<number | null> {
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    process.kill(-child.pid!, 'SIGINT');
    return ended;
  }

  afterEach(() => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGKILL');
  });

  test('while the cluster starts', async () => {
    await startAndHear('start');
    expect(await interrupt()).toBe(130);
    expect(said).toContain('stopped; nothing of it is left');
    expect(readdirSync(temporary)).toEqual([]);
  });

  test('under load', async () => {
    await startAndHear('clients write');
    const ids = processIds();
    expect(ids).toHaveLength(4);
    expect(ids.every(isAlive)).toBe(true);
    expect(await interrupt()).toBe(130);
    expect(ids.filter(isAlive)).toEqual([]);
    expect(readdirSync(temporary)).toEqual([]);
  });
});

test('--help tells the defaults, and a wrong number is refused by name', async () => {
  const { stdout } = await run(process.execPath, demo('--help'));
  expect(stdout).toMatch(/--seconds <n> .*\(default: 15\)/);
  expect(stdout).toMatch(/--kills <n> .*\(default: 3\)/);
  const refused = run(process.execPath, demo('--kills', '-1'));
  await expect(refused).rejects.toThrow(/--kills <n>.*must be a whole number from 0 to 100/);
});
