// kvorum/testing: a real cluster for your own tests, on free ports, gone when it is disposed of.
// (With `await using cluster = await startCluster(…)` where your language level has it.)
import assert from 'node:assert/strict';
import { Client } from 'kvorum/sdk';
import { startCluster } from 'kvorum/testing';

const cluster = await startCluster({ nodes: 1, partitions: 2 });
const client = new Client(cluster.url());

await client.set('tested', 'yes');
assert.equal(await client.get('tested'), 'yes');

await client.close();
await cluster.stop();
