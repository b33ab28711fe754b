// A worker of a consumer group: it is given entries of a stream, does them and acknowledges them.
import assert from 'node:assert/strict';
import { Client } from 'kvorum/sdk';

const client = new Client(process.env.KVORUM_URL ?? 'kvorum://127.0.0.1:18001/default');
const [STREAM, GROUP] = ['orders', 'packers'];

await client.del(STREAM);
await client.xgroup('CREATE', STREAM, GROUP, '0', 'MKSTREAM');
for (const item of ['tea', 'milk', 'bread']) await client.xadd(STREAM, '*', 'item', item);

/**
 * Does what `first` names, then waits for what is new; ends when nothing comes.
 * @param {string} worker
 * @param {string} first
 */
async function work(worker, first) {
  const done = [];
  let from = first;
  for (;;) {
    // what blocks is in no session: OUTCOME_UNKNOWN means that entries may be pending for us
    const given = await client
      .xreadgroup('GROUP', GROUP, worker, 'COUNT', 2, 'BLOCK', 200, 'STREAMS', STREAM, from)
      .catch((error) => {
        if (error.code !== 'OUTCOME_UNKNOWN') throw error;
        from = '0';
        return [];
      });
    if (given === null) return done;
    const entries = given.flatMap(([, ofStream]) => ofStream);
    if (from !== '>' && entries.length === 0) from = '>';
    for (const [id, fields] of entries) {
      // null: it was deleted while it was pending
      if (fields !== null) done.push(fields[1]);
      await client.xack(STREAM, GROUP, id);
    }
  }
}

// one that is gone has left an entry behind: '0' is what is pending for a worker of that name
await client.xreadgroup('GROUP', GROUP, 'ann', 'COUNT', 1, 'STREAMS', STREAM, '>');
assert.deepEqual(await work('ann', '0'), ['tea', 'milk', 'bread']);

// what other workers have left is taken over after a time
await client.xadd(STREAM, '*', 'item', 'salt');
await client.xreadgroup('GROUP', GROUP, 'ben', 'STREAMS', STREAM, '>');
const [, claimed] = await client.xautoclaim(STREAM, GROUP, 'ann', 0, '0');
assert.equal(claimed.length, 1);
assert.deepEqual(await work('ann', '0'), ['salt']);
assert.equal((await client.xpending(STREAM, GROUP))[0], 0);

await client.close();
