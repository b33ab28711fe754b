/** Keyv, Cacheable, and rate-limiter-flexible without scripts. */
import { strict as assert } from 'node:assert';
import KeyvRedis, { createCluster, createKeyv } from '@keyv/redis';
import { Cacheable } from 'cacheable';
import Keyv from 'keyv';
import { RateLimiterRedisNonAtomic } from 'rate-limiter-flexible';
import { attempt, cluster, connect, gateway, ONE_PARTITION } from './place.mjs';

const url = `redis://${gateway.host}:${gateway.port}`;

export async function tryCaches() {
  await attempt('keyv keeps values', () => keeps(createKeyv(url, { namespace: 'keyv' })));
  await attempt('keyv keeps many', () => keepsMany(createKeyv(`${url}/${ONE_PARTITION}`)));
  await attempt('cacheable', caches);
  await attempt('rate-limiter-flexible, without scripts', limits);
  if (cluster === undefined) return;
  await attempt('keyv on the cluster ports', async () => {
    const nodes = createCluster({ rootNodes: cluster.map((socket) => ({ socket })) });
    await keeps(new Keyv(new KeyvRedis(nodes), { namespace: 'keyv-cluster' }));
  });
}

async function keeps(keyv) {
  const values = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`key${i}`, { i }]));
  for (const [key, value] of Object.entries(values)) await keyv.set(key, value);
  assert.deepEqual(await keyv.get(Object.keys(values)), Object.values(values));
  await keyv.set('soon', 1, 500);
  assert.equal(await keyv.get('soon'), 1);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  assert.equal(await keyv.get('soon'), undefined);
  let seen = 0;
  for await (const _ of keyv.iterator()) seen++;
  assert.equal(seen, 50);
  assert.equal(await keyv.delete('key1'), true);
  await keyv.clear();
  assert.equal(await keyv.get('key2'), undefined);
  await keyv.disconnect();
}

async function keepsMany(keyv) {
  const entries = Array.from({ length: 50 }, (_, i) => ({
    key: `many${i}`,
    value: i,
    ttl: 60_000,
  }));
  await keyv.setMany(entries);
  const values = await keyv.getMany(entries.map(({ key }) => key));
  assert.deepEqual(
    values,
    entries.map(({ value }) => value),
  );
  await keyv.deleteMany(entries.map(({ key }) => key));
  assert.equal(await keyv.has('many1'), false);
  await keyv.disconnect();
}

async function caches() {
  const cache = new Cacheable({ secondary: createKeyv(url, { namespace: 'cacheable' }) });
  let asked = 0;
  const compute = (n) => {
    asked++;
    return n * n;
  };
  const square = cache.wrap(compute, { ttl: '1h', keyPrefix: 'square' });
  assert.deepEqual([await square(3), await square(3), asked], [9, 9, 1]);
  await cache.set('key', 'value', 60_000);
  await cache.primary.clear();
  assert.equal(await cache.get('key'), 'value');
  await cache.disconnect();
}

async function limits() {
  const storeClient = await connect();
  const options = { storeClient, useRedisPackage: true, points: 10, duration: 60 };
  const limiter = new RateLimiterRedisNonAtomic(options);
  let passed = 0;
  for (let i = 0; i < 15; i++) {
    await limiter.consume('me').then(
      () => passed++,
      ({ msBeforeNext }) => assert.ok(msBeforeNext > 0),
    );
  }
  assert.equal(passed, 10);
  await storeClient.close();
}
