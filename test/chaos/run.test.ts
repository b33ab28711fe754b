/**
 * A short run of the chaos command with real processes: in network namespaces where this machine
 * allows them, else on loopback, which it says. The long column is a long run with every fault.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { scale } from '../scale.ts';

const execFileAsync = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const main = join(root, '.cache', 'chaos', 'chaos', 'main.js');
const directory = mkdtempSync(join(tmpdir(), 'kvorum-chaos-test-'));
const isLong = scale.chaosMinutes >= 1;
const small = ['--datanodes', '3', '--placedrivers', '1', '--etcd', '1', '--partitions', '4'];
const few = ['--faults', 'kill,pause,isolate', '--clients', '3', ...small];
/** A cluster that does not come back is told after 90 s. */
const AROUND_MS = 300_000;

beforeAll(async () => {
  // types are checked by a step of the test run
  const tsc = join(root, 'node_modules', '.bin', 'tsc');
  await execFileAsync(tsc, ['-p', 'chaos', '--noCheck'], { cwd: root });
}, 240_000);

afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Processes whose command line names the directory of a run. */
function leftOf(place: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(join('/proc', pid, 'cmdline'), 'utf8').includes(place);
      } catch {
        return false; // it has ended meanwhile
      }
    });
}

test(
  'what clients of all doors are told under faults has an order',
  async () => {
    const json = join(directory, 'result.json');
    const place = mkdtempSync(join(directory, 'data-'));
    const args = ['--minutes', String(scale.chaosMinutes), '--json', json, '--data', place];
    const { stdout } = await execFileAsync(
      process.execPath,
      [main, ...args, '--seed', 'test', ...(isLong ? [] : few)],
      { timeout: scale.chaosMinutes * 120_000 + AROUND_MS, maxBuffer: 64 * 1024 * 1024 },
    ).catch((failure: { stdout: string; stderr: string }) => {
      throw new Error(`${failure.stdout}\n${failure.stderr}`);
    });
    process.stdout.write(stdout);
    expect(stdout).toContain('PASSED');
    const result = JSON.parse(readFileSync(json, 'utf8'));
    expect(result).toMatchObject({ passed: true, stuck: [] });
    expect(result.verdict).toMatchObject({ violations: 0, anomalies: 0, undecided: 0 });
    const { places } = result.verdict;
    expect(places).toMatchObject({ findings: 0, groups: result.setting.partitions });
    // of calls at two doors of three, but those that waited or were asked for twice
    expect(places.placed).toBeGreaterThan(result.counts.ok / 3);
    expect(places.undecided).toBeLessThan(places.parts / 4);
    expect(result.faults.length).toBeGreaterThan(0);
    expect(result.verdict.parts).toBeGreaterThan(20);
    expect(result.counts.ok).toBeGreaterThan(500);
    // every door was used: each waited for something
    for (const fault of result.faults) expect(Math.min(...waits(fault))).toBeGreaterThan(0);
    if (result.network === 'loopback') expect(stdout).toContain('without network namespaces: ');
    expect(readdirSync(place)).toEqual([]);
    expect(leftOf(place)).toEqual([]);
  },
  scale.chaosMinutes * 150_000 + AROUND_MS,
);

const waits = ({ slowestMs }: { slowestMs: Record<string, number> }) => Object.values(slowestMs);

test('a run that is ended leaves no process and no file behind', async () => {
  const place = mkdtempSync(join(directory, 'ended-'));
  const args = [main, '--minutes', '5', '--data', place, ...few];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  // `close`, not `exit`: only then is all heard that it said last
  const ended = new Promise((resolve) => child.once('close', resolve));
  // the load has begun: all processes run
  await expect.poll(() => said, { timeout: 120_000 }).toContain('clients work');
  expect(leftOf(place).length).toBeGreaterThan(4);
  child.kill('SIGTERM');
  expect(await ended).toBe(130);
  expect(said).toContain('interrupted; nothing of it is left');
  expect(readdirSync(place)).toEqual([]);
  expect(leftOf(place)).toEqual([]);
}, 240_000);
