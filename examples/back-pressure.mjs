// A producer that is faster than the cluster: whenWritable() holds it back, drain() waits for all.
import assert from 'node:assert/strict';
import { Client } from 'kvorum/sdk';

const url = process.env.KVORUM_URL ?? 'kvorum://127.0.0.1:18001/default';
const client = new Client(`${url}?maxInFlight=32&maxQueued=100`);

await client.del('counter');
let failed = 0;
for (let at = 0; at < 2_000; at++) {
  await client.whenWritable();
  client.incr('counter').catch(() => failed++);
}
await client.drain();
assert.equal(failed, 0);
assert.equal(await client.get('counter'), '2000');

await client.close();
