/** A process that stands still and goes on as if nothing had been (SIGSTOP, SIGCONT). */
import { expect, test } from 'vitest';
import { scale } from '../scale.ts';
import { ledAsWanted, pause, startCluster, type TestCluster } from './cluster.ts';
import { endedAfterEach } from './ended.ts';
import { Load } from './load.ts';

const ended = endedAfterEach();

const nodes = [0, 1, 2];

async function terms(running: TestCluster): Promise<Map<number, number>> {
  const { partitions } = await running.status();
  return new Map(partitions.map(({ partition, term }) => [partition, term]));
}

/** Elections between two looks, over all groups. */
function elections(before: Map<number, number>, after: Map<number, number>): number {
  return [...after].reduce((sum, [group, term]) => sum + term - (before.get(group) ?? term), 0);
}

async function ledBy(running: TestCluster, node: string): Promise<number> {
  const { partitions } = await running.status();
  return partitions.filter(({ leader }) => leader === node).length;
}

test(`the node that leads a third of ${scale.groups} groups stands still for ${scale.pauseSeconds} s`, async () => {
  const running = ended(await startCluster({ partitions: scale.groups }));
  const load = ended(
    new Load({
      ports: nodes.map((node) => running.gatewayPort(node)),
      clusterPorts: nodes.map((node) => running.clusterPort(node)),
      ...{ partitions: scale.groups, writers: 8, readers: 4, keysPerWriter: 16 },
    }),
  );
  await ledAsWanted(running, scale.groups);
  const [victim, led] = ['datanode2', await ledBy(running, 'datanode2')];
  expect(led).toBeGreaterThan(0);
  const before = await terms(running);
  const pid = running.pidOf(victim);
  process.kill(pid, 'SIGSTOP');
  await pause(scale.pauseSeconds * 1_000);
  process.kill(pid, 'SIGCONT');
  const thawedMs = performance.now();
  // also those that go back to it: no transfer is left for the time in which all is to be quiet
  await ledAsWanted(running, scale.groups);
  const backMs = performance.now() - thawedMs;
  const after = await terms(running);
  await pause(3_000);
  const later = elections(after, await terms(running));
  await load.stop();
  const report = await load.verify(running.gatewayPort(1));
  const held = elections(before, after);
  process.stdout.write(
    `${victim} led ${led} groups: ${held} terms passed, ${later} once all was quiet; ` +
      `all led as before ${backMs.toFixed(0)} ms after SIGCONT; ${JSON.stringify(report)}\n`,
  );
  expect(report.violations).toEqual([]);
  // One election for each group that lost its leader, and some whose first vote was split.
  expect(held).toBeGreaterThanOrEqual(led);
  expect(held).toBeLessThanOrEqual(led * 3);
  expect(later).toBe(0);
}, 600_000);
