/**
 * Whole clusters under faults, many seeds run twice with equal traces. Times are generous: `npm test`
 * gives this file what others leave. In processes of their own: the
 * traps against real time would catch the test runner as well.
 */
import { execFile } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { scale } from '../scale.ts';
import { simulatorFlags } from './node-flags.mjs';
import { drawPlan, faultKinds, linkFaultKinds } from './plan.ts';

const root = join(fileURLToPath(import.meta.url), '..', '..', '..');
const run = promisify(execFile);
const PROCESSES = 2;
/** Of a seed, keys whose history is not judged: there are hardly any, and more would hide violations. */
const UNDECIDED_SHARE_MAX = 0.1;

async function simulate(...args: string[]): Promise<string> {
  const main = join(root, '.cache', 'sim', 'test', 'sim', 'main.js');
  const options = { maxBuffer: 64 * 1024 * 1024 };
  try {
    return (await run(process.execPath, [...simulatorFlags, main, ...args], options)).stdout;
  } catch (failure) {
    const { stdout } = failure as { stdout?: string };
    throw new Error(`the simulator found a violation:\n${stdout?.slice(-20_000) ?? failure}`);
  }
}

/** A copy of the build with a bug that many seeds find: the saved commit index is forgotten. */
function breakBuild(): string {
  const broken = join(root, '.cache', `sim-broken-${process.pid}`);
  cpSync(join(root, '.cache', 'sim'), broken, { recursive: true });
  const file = join(broken, 'src', 'datanode', 'partition', 'storage', 'replica-storage.js');
  const parts = readFileSync(file, 'utf8').split('Math.max(hardState.commit, this.#initial.index)');
  expect(parts).toHaveLength(2);
  writeFileSync(file, parts.join('this.#initial.index'));
  return broken;
}

/** What the simulator of `build` prints about a seed that fails. */
async function failure(build: string, seed: string, ...args: string[]): Promise<string> {
  const main = join(build, 'test', 'sim', 'main.js');
  const words = [...simulatorFlags, main, '--seed', seed, '--once', ...args];
  const { stdout, code } = await run(process.execPath, words, { maxBuffer: 2 ** 26 }).then(
    ({ stdout }) => ({ stdout, code: 0 }),
    (error: { stdout: string; code: number }) => error,
  );
  expect(code).toBe(1);
  return stdout;
}

/** Histories of keys that nobody could judge within bounds, by the last line of a report. */
function undecidedIn(report: string): number {
  const [, keys] = / (\d+) keys undecided; /.exec(report.trim().split('\n').at(-1)!) ?? [];
  return Number(keys);
}

/** How often each kind of fault was injected, by the last line of a report. */
function faultsOf(report: string): Map<string, number> {
  const [, faults = ''] = /faults: (.*)$/.exec(report.trim().split('\n').at(-1)!) ?? [];
  const counts = [...faults.matchAll(/(\w+) (\d+)/g)];
  return new Map(counts.map(([, kind, count]) => [kind!, Number(count)]));
}

beforeAll(async () => {
  await run(join(root, 'node_modules', '.bin', 'tsc'), ['-p', join(root, 'test', 'sim')]);
}, 600_000);

describe('the simulator', () => {
  test(
    'finds no violation, and seeds that run twice leave the same trace',
    async () => {
      const share = Math.ceil(scale.simulatorSeeds / PROCESSES);
      const twice = Math.ceil(scale.simulatorSeedsTwice / PROCESSES);
      const reports = await Promise.all(
        Array.from({ length: PROCESSES }, (_, at) => {
          const seeds = ['--seeds', String(share), '--from', String(1 + at * share)];
          return simulate(...seeds, '--twice', String(twice));
        }),
      );
      for (const report of reports) {
        const [, seeds, runs] = /^(\d+) seeds, .* (\d+) runs: /.exec(
          report.trim().split('\n').at(-1)!,
        )!;
        expect([seeds, runs].map(Number)).toEqual([share, share + twice]);
        const waits = /waits: (\d+) served, (\d+) in vain, (\d+) open;/.exec(
          report.slice(report.lastIndexOf('waits:')),
        );
        expect(waits?.slice(1).map((count) => Number(count) > 0)).toEqual([true, true, true]);
        const absent = /quorums without (\d+) nodes/.exec(
          report.slice(report.lastIndexOf('quorums')),
        );
        expect(Number(absent?.[1])).toBeGreaterThan(share / 2);
        expect(undecidedIn(report)).toBeLessThanOrEqual(share * UNDECIDED_SHARE_MAX);
      }
      const injected = new Set(reports.flatMap((report) => [...faultsOf(report).keys()]));
      const kinds = [...faultKinds, ...linkFaultKinds];
      expect(kinds.filter((kind) => !injected.has(kind))).toEqual([]);
      for (const report of reports) process.stdout.write(`${report.trim().split('\n').at(-1)}\n`);
    },
    scale.simulatorSeeds * 10_000,
  );

  test(
    'finds none in plans that look at leases alone either',
    async () => {
      const share = Math.ceil(scale.leaseSeeds / PROCESSES);
      const reports = await Promise.all(
        Array.from({ length: PROCESSES }, (_, at) =>
          simulate('--about', 'leases', '--seeds', String(share), '--from', String(1 + at * share)),
        ),
      );
      for (const report of reports) expect(report).toMatch(/changeReads \d+.* metaLate \d+/);
    },
    scale.leaseSeeds * 200_000,
  );

  test(
    'finds no client that keeps what was overwritten longer than is promised',
    async () => {
      const args = ['--about', 'caching', '--seeds', String(scale.cachingSeeds), '--once'];
      const [, calls] = /; (\d+) calls judged, .*\n$/.exec(await simulate(...args))!;
      expect(Number(calls)).toBeGreaterThan(100 * scale.cachingSeeds);
    },
    scale.cachingSeeds * 200_000,
  );

  test(
    'finds that a patient client of the SDK is told what became of every write, once',
    async () => {
      const report = await simulate('--patient', '--seeds', String(scale.sdkSeeds));
      const [, calls] = /; (\d+) calls judged, .*\n$/.exec(report)!;
      expect(Number(calls)).toBeGreaterThan(50 * scale.sdkSeeds);
    },
    scale.sdkSeeds * 200_000,
  );

  test('repeats a failure by the command it prints, with its last events, and makes its faults few', async () => {
    const broken = breakBuild();
    try {
      const [first, again] = [await failure(broken, '1'), await failure(broken, '1')];
      expect(first).toMatch(/^seed 1: durable: n\d replica \d+: .* was durable, now /m);
      expect(first).toContain('again: npm run sim -- --seed 1\n');
      expect(first).toMatch(/^\d+\.\d -- crash n\d (power|process)$/m);
      expect(again).toBe(first);
      const [said, remain] = (await failure(broken, '1', '--minimize')).split(
        'faults that remain:\n',
      );
      expect(said).toMatch(/still fails with \d+ faults\n.*seed 1: durable: /s);
      const faults = remain!.split('\n').filter((line) => line !== '');
      expect(faults.length).toBeLessThan(drawPlan('1').faults.length / 2);
      for (const fault of faults) expect(JSON.parse(fault)).toHaveProperty('kind');
    } finally {
      rmSync(broken, { recursive: true, force: true });
    }
  }, 1_500_000);

  test('goes on by the hour, and tells of simulated time, of events and of faults by class', async () => {
    const seconds = 8;
    const began = performance.now();
    const report = await simulate('--hours', String(seconds / 3_600), '--from', '5');
    expect(performance.now() - began).toBeGreaterThan(seconds * 1_000);
    expect(report).toMatch(
      /^\d+ seeds, \d+\.\d\d simulated hours, \d+ events \(\d+\/s\), .*; faults: \w+ \d+/m,
    );
    expect(faultsOf(report).size).toBeGreaterThan(0);
    const [, seeds] = /^(\d+) seeds/.exec(report.trim().split('\n').at(-1)!)!;
    expect(Number(seeds)).toBeGreaterThan(0);
  }, 600_000);

  test('says how it is used, and what is no number', async () => {
    expect(await simulate('--help')).toContain('--minimize');
    await expect(simulate('--seeds', '41-52')).rejects.toThrow('--seeds: a number, not 41-52');
    await expect(simulate('--about', 'types', '--reads', 'lease')).rejects.toThrow(
      '--about draws how reads are made itself',
    );
  }, 600_000);
});
