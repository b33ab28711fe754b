// A transaction on condition: it takes effect only if nobody has changed the watched keys since they
// were read, and is tried again while somebody has.
import assert from 'node:assert/strict';
import { Client } from 'kvorum/sdk';

const client = new Client(process.env.KVORUM_URL ?? 'kvorum://127.0.0.1:18001/default');

await client.mset({ '{shop}:stock': 3, '{shop}:sold': 0 });

function buy() {
  return client.watch('{shop}:stock', async (tx) => {
    const left = Number(await tx.get('{shop}:stock'));
    // No transaction: nothing is sent, and watch() resolves with undefined.
    return left > 0 ? tx.multi().decr('{shop}:stock').incr('{shop}:sold') : undefined;
  });
}

const bought = await Promise.all([buy(), buy(), buy(), buy(), buy()]);
assert.equal(bought.filter((results) => results !== undefined).length, 3);
assert.deepEqual(await client.mget('{shop}:stock', '{shop}:sold'), ['0', '3']);

// A key that changes all the time: CONFLICT, and nothing took effect.
const never = client.watch(
  '{shop}:stock',
  async (tx) => {
    await client.incr('{shop}:stock');
    return tx.multi().del('{shop}:sold');
  },
  { attemptsMax: 2 },
);
await assert.rejects(never, { code: 'CONFLICT', retriable: true });

await client.close();
