/** A follower is sent a snapshot that was captured in the midst of a FLUSHALL, and is read. */
import { afterEach, expect, test } from 'vitest';
import type { Engine, EngineHost, KeyRange } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import type { Replica } from '../../../../src/datanode/partition/replica/replica.ts';
import { eventually } from '../../../cluster/cluster.ts';
import { Trio, textOf } from '../trio.ts';

const KEYS = Array.from({ length: 100 }, (_, at) => `k${at}`);
const PATIENCE_MS = 60_000;
let trio: Trio;
let reached = () => {};
const isHalfCleared = new Promise<void>((resolve) => {
  reached = resolve;
});
let release = () => {};
const isReleased = new Promise<void>((resolve) => {
  release = resolve;
});

afterEach(async () => {
  release();
  await trio.destroy();
});

/** As LevelDB it clears some keys at a time; it stops half way until it is released. */
function slowlyClearing(host: EngineHost): EngineHost {
  const clearRange = async (engine: Engine, range: KeyRange): Promise<void> => {
    const iterator = engine.iterate(range);
    const pairs = await iterator.next(KEYS.length / 2);
    await iterator.close();
    await engine.write(pairs.map(([key]) => ({ type: 'del', key })));
    reached();
    await isReleased;
    await engine.clearRange(range);
  };
  const slow = (engine: Engine): Engine =>
    new Proxy(engine, {
      get(target, name) {
        if (name === 'clearRange') return (range: KeyRange) => clearRange(target, range);
        const value = Reflect.get(target, name) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  return {
    open: async (name) => {
      const { engine, report } = await host.open(name);
      return { engine: slow(engine), report };
    },
    list: () => host.list(),
    remove: (name) => host.remove(name),
    verifyTables: (...args) => host.verifyTables(...args),
  };
}

/** How many keys it shows; `waits` when it does not answer in a moment, or in so long. */
async function countAt(follower: Replica, patienceMs = 200): Promise<string> {
  const answered = follower.execute({
    ...{ namespace: 'default', partition: 0, kind: 'read', protocol: 2, term: undefined },
    lines: [['EXISTS', ...KEYS].map((word) => Buffer.from(word))],
    deadlineMs: performance.now() + PATIENCE_MS,
    maxStalenessMs: PATIENCE_MS,
  });
  const waits = new Promise<string>((resolve) => setTimeout(() => resolve('waits'), patienceMs));
  return Promise.race([answered.then(([result]) => textOf(result!)), waits]);
}

test('reads of a follower see all keys of before a FLUSHALL, or none', async () => {
  trio = new Trio({ electionTicks: 50, logHeldBytes: 1 });
  for (const node of ['n1', 'n2', 'n3']) {
    trio.engines.set(node, slowlyClearing(createMemoryHost()) as never);
    await trio.start(node);
  }
  await trio.run('write', ...KEYS.map((key) => `SET ${key} v`));
  const leader = await trio.leader();
  const id = leader.id === 3 ? 2 : 3;
  const follower = trio.hosts.get(`n${id}`)!.local('default', 0)!;
  await trio.caughtUp(`n${id}`, leader.appliedIndex);
  expect(await countAt(follower, PATIENCE_MS)).toBe(':100');
  // it hears nothing for a moment, in which the log goes on without it, and is compacted
  for (const other of [1, 2, 3].filter((one) => one !== id)) {
    trio.cut.add(`n${id}>n${other}`).add(`n${other}>n${id}`);
  }
  for (let at = 0; at < 300; at++) await trio.run('write', `SET k0 ${at}`);
  const { appliedIndex: before } = follower;
  const old = follower.slot.engine;
  await new Promise((resolve) => setTimeout(resolve, 500));
  const flushed = trio.run('write', 'FLUSHALL');
  await isHalfCleared;
  expect(await countAt(follower, PATIENCE_MS)).toBe(':100');
  trio.cut.clear();
  await eventually(20_000, 'a snapshot is installed', () => follower.slot.engine !== old);
  expect(follower.appliedIndex).toBeGreaterThan(before);
  for (let at = 0; at < 5; at++) expect(['waits', ':0']).toContain(await countAt(follower));
  release();
  expect(await flushed).toEqual(['+OK']);
  await eventually(20_000, 'it has applied it', async () => (await countAt(follower)) === ':0');
});
