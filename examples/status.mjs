// What becomes of the client's connections and of the table of partitions: as a walk, and as events.
import assert from 'node:assert/strict';
import { Client } from 'kvorum/sdk';

const url = process.env.KVORUM_URL ?? 'kvorum://127.0.0.1:18001/default';
const client = new Client(`${url}?lazyConnect=true`);
assert.equal(client.status, 'wait');

/** @type {string[]} */
const told = [];
const walk = (async () => {
  for await (const change of client.changes()) {
    if (change.kind === 'status') told.push(change.status);
    if (change.kind === 'table') told.push(`${change.partitions} partitions`);
    if (change.kind === 'leader') console.log(`${change.partition} is led by ${change.to} now`);
    if (change.kind === 'dropped') console.log(`too slow: ${change.count} changes were not kept`);
  }
})();
client.on('change', ({ kind }) => assert.notEqual(kind, 'dropped'));
client.on('error', (error) => console.error(error.message));

await client.set('status', 'ready');
assert.equal(client.status, 'ready');
assert.ok(client.nodes().length > 0);

await client.close();
await walk;
assert.deepEqual([told[0], told[1], told.at(-1)], ['wait', 'connecting', 'end']);
assert.ok(told.includes('ready') && told.some((one) => / partitions$/.test(one)));
