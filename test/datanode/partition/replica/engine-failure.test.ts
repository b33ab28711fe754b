import { afterEach, expect, test } from 'vitest';
import { sleep, systemClock } from '../../../../src/common/clock.ts';
import { limits } from '../../../../src/common/limits.ts';
import { Trio } from '../trio.ts';

let trio: Trio;

afterEach(async () => {
  await trio.destroy();
});

test('a leader whose last writes do not reach its engine hands over, though nobody writes', async () => {
  // nor does a sync come by which it would hear of it
  trio = new Trio({ engineSyncIntervalMs: 600_000 });
  for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
  await trio.run('write', 'SET a 1');
  const leader = await trio.leader();
  // that one reaches the engine
  await sleep(systemClock, 20 * limits.engineBehindMs);
  trio.engines.get(`n${leader.id}`)!.failDisk(leader.engineName);
  expect(await trio.run('write', 'SET b 2')).toEqual(['+OK']);
  await expect.poll(() => leader.stopped).toBe(true);
  expect(trio.faults).toEqual([expect.stringContaining('the disk failed')]);
  expect((await trio.leader()).id).not.toBe(leader.id);
  expect(await trio.run('read', 'GET b')).toEqual(['$1\r\n2']);
  // it is opened again, and applies again what its engine has not
  const host = trio.hosts.get(`n${leader.id}`)!;
  const again = () => host.replicas().find(({ stopped }) => !stopped);
  await expect.poll(again, { timeout: 20_000 }).toBeDefined();
  const applied = async () => again()!.appliedIndex - (await trio.leader()).appliedIndex;
  await expect.poll(applied, { timeout: 20_000 }).toBe(0);
});

test('a full disk keeps no replica from stopping: it lets its engine go, and can be opened again', async () => {
  trio = new Trio({ engineSyncIntervalMs: 600_000 });
  for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
  await trio.run('write', 'SET a 1');
  const [replica] = trio.hosts.get('n1')!.replicas();
  const engines = trio.engines.get('n1')!;
  engines.failDisk(replica!.engineName);
  await replica!.stop();
  const { engine } = await engines.open(replica!.engineName);
  await engine.close();
});
