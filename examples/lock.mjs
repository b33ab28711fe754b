// A lock: who sets its key holds it, and only who holds it gives it back.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Client } from 'kvorum/sdk';

const client = new Client(process.env.KVORUM_URL ?? 'kvorum://127.0.0.1:18001/default');
const LOCK = 'lock:report';
const [mine, theirs] = [randomUUID(), randomUUID()];

// it ends by itself after 30 s, should its holder be gone
assert.equal(await client.set(LOCK, mine, 'PX', 30_000, 'NX'), 'OK');
assert.equal(await client.set(LOCK, theirs, 'PX', 30_000, 'NX'), null);

// held for longer, and given back, on condition that it is still ours
assert.equal(await client.set(LOCK, mine, 'IFEQ', mine, 'PX', 30_000), 'OK');
assert.equal(await client.delex(LOCK, 'IFEQ', theirs), 0);
assert.equal(await client.delex(LOCK, 'IFEQ', mine), 1);

await client.close();
