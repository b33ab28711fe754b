/** What runs Lua scripts: ioredis' own commands, rate limits, locks and queues. */
import { strict as assert } from 'node:assert';
import BeeQueue from 'bee-queue';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { Cluster, Redis } from 'ioredis';
import { RedisStore } from 'rate-limit-redis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { defineScript } from 'redis';
import Redlock from 'redlock';
import { attempt, cluster, connect, eventually, gateway, ONE_PARTITION } from './place.mjs';

const COUNT = {
  numberOfKeys: 2,
  lua: `redis.call('INCRBY', KEYS[1], ARGV[1])
    return {redis.call('INCR', KEYS[2]), ARGV[1]}`,
};

export async function tryScripts() {
  await attempt('ioredis defineCommand', () => defined(new Redis(gateway)));
  await attempt('node-redis scripts', nodeRedisScripts);
  await attempt('rate-limiter-flexible, node-redis', limitsOfNodeRedis);
  await attempt('rate-limiter-flexible, ioredis', () => limitsOf(new Redis(gateway)));
  await attempt('rate-limit-redis', limitsOfExpress);
  await attempt('redlock', () => locks(new Redis(gateway)));
  await attempt('bee-queue', queues);
  if (cluster === undefined) return;
  await attempt('ioredis defineCommand, cluster', () => defined(new Cluster(cluster)));
  await attempt('rate-limiter-flexible, cluster', () => limitsOf(new Cluster(cluster)));
  await attempt('redlock, cluster', () => locks(new Cluster(cluster)));
}

/** EVALSHA, and the body again where a partition does not know it. */
async function defined(redis) {
  redis.defineCommand('count', COUNT);
  for (let i = 1; i <= 20; i++) {
    await redis.del(`{${i}}a`, `{${i}}b`);
    assert.deepEqual(await redis.count(`{${i}}a`, `{${i}}b`, 5), [1, '5']);
    assert.deepEqual(await redis.count(`{${i}}a`, `{${i}}b`, 6), [2, '6']);
    assert.equal(await redis.get(`{${i}}a`), '11');
  }
  await redis.del('{p}a', '{p}b');
  const pipelined = await redis.pipeline().count('{p}a', '{p}b', 1).count('{p}a', '{p}b', 2).exec();
  assert.deepEqual(
    pipelined.map(([error, reply]) => error ?? reply),
    [
      [1, '1'],
      [2, '2'],
    ],
  );
  await assert.rejects(redis.count('a', 'b', 1), /CROSSSLOT/);
  redis.disconnect();
}

async function nodeRedisScripts() {
  const add = defineScript({
    SCRIPT: `return redis.call('INCRBY', KEYS[1], ARGV[1])`,
    NUMBER_OF_KEYS: 1,
    parseCommand: (parser, key, n) => {
      parser.pushKey(key);
      parser.push(String(n));
    },
    transformReply: undefined,
  });
  const client = await connect({ scripts: { add } });
  await client.del('node-redis');
  assert.deepEqual([await client.add('node-redis', 2), await client.add('node-redis', 3)], [2, 5]);
  const replies = await client.multi().add('node-redis', 1).get('node-redis').exec();
  assert.deepEqual(replies, [6, '6']);
  await client.close();
}

async function limitsOfNodeRedis() {
  const storeClient = await connect();
  await limits({ storeClient, useRedisPackage: true, keyPrefix: 'node-redis' });
  await storeClient.close();
}

async function limitsOf(storeClient) {
  await limits({ storeClient, keyPrefix: storeClient.constructor.name });
  storeClient.disconnect();
}

/** Asked at once, as many pass as may, and not one more. */
async function limits(options) {
  const limiter = new RateLimiterRedis({ ...options, points: 10, duration: 60 });
  for (const who of ['me', 'you', 'them']) {
    await limiter.delete(who);
    const asked = await Promise.allSettled(Array.from({ length: 25 }, () => limiter.consume(who)));
    assert.equal(asked.filter(({ status }) => status === 'fulfilled').length, 10);
    for (const { reason } of asked.filter(({ status }) => status === 'rejected'))
      assert.ok(reason.msBeforeNext > 0, String(reason));
  }
}

async function limitsOfExpress() {
  const client = await connect();
  const store = new RedisStore({ sendCommand: (...args) => client.sendCommand(args) });
  const app = express();
  app.use(rateLimit({ windowMs: 60_000, limit: 5, store, validate: false }));
  app.get('/', (_, response) => response.send('page'));
  const server = await new Promise((resolve) => {
    const listening = app.listen(0, '127.0.0.1', () => resolve(listening));
  });
  const url = `http://127.0.0.1:${server.address().port}/`;
  const seen = [];
  for (let i = 0; i < 8; i++) seen.push((await fetch(url)).status);
  assert.deepEqual(seen, [200, 200, 200, 200, 200, 429, 429, 429]);
  server.close();
  await client.close();
}

async function locks(redis) {
  await redis.del('resource');
  const impatient = new Redlock([redis], { retryCount: 0 });
  const lock = await impatient.lock('resource', 10_000);
  await assert.rejects(impatient.lock('resource', 10_000), /Exceeded \d attempts/);
  const extended = await lock.extend(20_000);
  assert.ok((await redis.pttl('resource')) > 15_000);
  await extended.unlock();
  assert.equal(await redis.exists('resource'), 0);
  const patient = new Redlock([redis], { retryCount: 200, retryDelay: 20 });
  let inside = 0;
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      const mine = await patient.lock('resource', 10_000);
      assert.equal(++inside, 1);
      await new Promise((resolve) => setTimeout(resolve, 5));
      inside--;
      await mine.unlock();
    }),
  );
  redis.disconnect();
}

async function queues() {
  const redis = { ...gateway, db: ONE_PARTITION };
  const queue = new BeeQueue('suite', { redis, activateDelayedJobs: true });
  await queue.destroy();
  const done = [];
  queue.process(2, async (job) => {
    done.push(job.data.name);
    if (job.data.name === 'again' && done.filter((name) => name === 'again').length < 2)
      throw new Error('as it should');
  });
  for (let i = 0; i < 20; i++) await queue.createJob({ name: `job${i}` }).save();
  await queue.createJob({ name: 'again' }).retries(2).save();
  const began = Date.now();
  await queue
    .createJob({ name: 'late' })
    .delayUntil(began + 2_000)
    .save();
  await eventually(async () => done.includes('late'), 30_000);
  assert.ok(Date.now() - began >= 1_900);
  await eventually(async () => done.length === 23, 30_000);
  await eventually(async () => (await queue.checkHealth()).succeeded === 22, 30_000);
  await queue.close(5_000);
}
