// How fresh a read must be, of a call or of the client. Stale reads prefer replicas nearby.
import assert from 'node:assert/strict';
import { Client } from 'kvorum/sdk';

const url = process.env.KVORUM_URL ?? 'kvorum://127.0.0.1:18001/default';
const client = new Client(url);

await client.set('fresh', 1);
assert.equal(await client.get('fresh'), '1');
assert.equal(await client.get('fresh', { consistency: 'lease' }), '1');

const relaxed = client.duplicate({ consistency: { maxStalenessMs: 10_000 }, dc: 'here' });
assert.ok(['1', null].includes(await relaxed.get('fresh')));

await relaxed.close();
await client.close();
