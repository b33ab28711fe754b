// What is sent within one turn of the event loop leaves in one write per node, with or without this.
import assert from 'node:assert/strict';
import { Client } from 'kvorum/sdk';

const client = new Client(process.env.KVORUM_URL ?? 'kvorum://127.0.0.1:18001/default');

const results = await client
  .pipeline()
  .set('pipe:1', 'one')
  .get('pipe:1')
  .lpush('pipe:1', 'not a list')
  .exec();
assert.deepEqual(results[1], [null, 'one']);
// A command that fails has its error; the others are not touched by it.
assert.equal(results[2]?.[0]?.code, 'WRONGTYPE');

const values = await Promise.all([client.set('pipe:2', 2), client.get('pipe:2')]);
assert.deepEqual(values, ['OK', '2']);

await client.close();
