// All keys of all partitions; a cursor begins a later walk behind it.
import assert from 'node:assert/strict';
import { Client } from 'kvorum/sdk';

const client = new Client(process.env.KVORUM_URL ?? 'kvorum://127.0.0.1:18001/default');

const keys = Array.from({ length: 200 }, (_, at) => `walk:${at}`);
await client.mset(Object.fromEntries(keys.map((key) => [key, 'x'])));

const found = new Set();
let cursor = '0';
for await (const step of client.scanKeys({ match: 'walk:*', count: 50 })) {
  for (const key of step.keys) found.add(key);
  cursor = step.cursor;
  if (step.progress > 0.5) break;
}
if (cursor !== '0') {
  for await (const step of client.scanKeys({ match: 'walk:*', count: 50, cursor })) {
    for (const key of step.keys) found.add(key);
  }
}
assert.deepEqual([...found].sort(), keys.sort());

let streamed = 0;
for await (const some of client.scanStream({ match: 'walk:*', count: 50 })) streamed += some.length;
assert.ok(streamed >= 200);

await client.close();
