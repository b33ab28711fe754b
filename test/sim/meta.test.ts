/** Faults of the simulated metadata store, as the process at its other end meets them. */
import { expect, test } from 'vitest';
import { seededRandom } from '../../src/common/random.ts';
import { MemoryMeta } from '../../src/meta/memory.ts';
import { SimClock } from './clock.ts';
import { connectSimMeta } from './meta.ts';
import { Scheduler } from './scheduler.ts';

async function world() {
  const scheduler = new Scheduler(seededRandom(7));
  const meta = new MemoryMeta({ clock: new SimClock(scheduler), latencyMs: 1 });
  const clock = new SimClock(scheduler);
  const client = connectSimMeta(meta, clock);
  const heard: string[] = [];
  client.watch('/', {
    onList: (items) => heard.push(`list ${items.length}`),
    onEvents: (events) => {
      for (const event of events) heard.push(event.type === 'put' ? event.item.value : 'deleted');
    },
  });
  const put = (key: string, value: string) => meta.commit([], [{ type: 'put', key, value }]);
  const pass = (ms: number) => scheduler.run(scheduler.nowMs + ms);
  await pass(10);
  expect(heard.splice(0)).toEqual(['list 0']);
  return { meta, client, clock, heard, put, pass };
}

test('a lease that is lost takes its keys with it, and its holder is told', async () => {
  const { meta, client, heard, pass } = await world();
  const granted = client.grantLease(60_000);
  await pass(10);
  const lease = await granted;
  const written = client.put('/held', 'x', lease);
  await pass(10);
  await written;
  client.loseLeases();
  await pass(10);
  expect(lease.lost.aborted).toBe(true);
  expect(meta.items.has('/held')).toBe(false);
  expect(heard).toEqual(['x', 'deleted']);
});

test('a late watch hears everything later, in its order', async () => {
  const { client, heard, put, pass } = await world();
  client.late(500);
  for (const value of ['1', '2', '3']) put('/a', value);
  await pass(450);
  expect(heard).toEqual([]);
  await pass(100);
  expect(heard).toEqual(['1', '2', '3']);
});

test('after a compaction a watch lists anew', async () => {
  const { meta, heard, put, pass } = await world();
  put('/a', '1');
  await pass(10);
  meta.relist();
  await pass(10);
  expect(heard).toEqual(['1', 'list 1']);
});

test('while the store is away calls fail, and the watch lists when it is back', async () => {
  const { meta, client, heard, put, pass } = await world();
  meta.available = false;
  let code = '';
  client.get('/a').catch((failure: { code: string }) => {
    code = failure.code;
  });
  put('/a', '1');
  await pass(50);
  expect([code, ...heard]).toEqual(['STORE_UNAVAILABLE']);
  meta.available = true;
  await pass(50);
  expect(heard).toEqual(['list 1']);
});

test('a stopped process hears nothing, a dead one never again', async () => {
  const { client, clock, heard, put, pass } = await world();
  clock.pause();
  put('/a', '1');
  await pass(50);
  expect(heard).toEqual([]);
  clock.resume();
  await pass(10);
  expect(heard).toEqual(['1']);
  client.crash();
  clock.kill();
  put('/a', '2');
  await pass(50);
  expect(heard).toEqual(['1']);
});
