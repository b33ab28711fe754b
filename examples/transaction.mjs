// MULTI/EXEC: keys of one partition (a common {tag}) change together or not at all.
import assert from 'node:assert/strict';
import { Client } from 'kvorum/sdk';

const client = new Client(process.env.KVORUM_URL ?? 'kvorum://127.0.0.1:18001/default');

await client.mset({ '{bank}:alice': 100, '{bank}:bob': 0 });
const results = await client.multi().decrby('{bank}:alice', 30).incrby('{bank}:bob', 30).exec();
assert.deepEqual(results, [
  [null, 70],
  [null, 30],
]);

const apart = client.multi();
for (let at = 0; at < 100; at++) apart.set(`apart:${at}`, at);
await assert.rejects(apart.exec(), { code: 'CROSSSLOT' });

await client.close();
