// Exactly once: a write that is sent again after a lost reply takes effect one time, because it runs
// in a session that its partition keeps. Nothing is to be done for it; without, the client says that
// it cannot know.
import assert from 'node:assert/strict';
import { Client, ClientError } from 'kvorum/sdk';

const url = process.env.KVORUM_URL ?? 'kvorum://127.0.0.1:18001/default';
const client = new Client(url);

await client.del('exactly', 'exactly:list');
for (let at = 1; at <= 100; at++) {
  // Whatever leader dies meanwhile: the reply is the one of the only time it ran.
  assert.equal(await client.incr('exactly'), at);
  assert.equal(await client.rpush('exactly:list', at), at);
}

// Without sessions a write whose reply was lost is not sent again: the caller decides.
const plain = client.duplicate({ sessions: false });
try {
  await plain.incr('exactly');
} catch (error) {
  if (!(error instanceof ClientError && error.code === 'OUTCOME_UNKNOWN')) throw error;
  console.log('it may have been counted:', error.partition);
}
assert.ok(Number(await client.get('exactly')) >= 100);

await plain.close();
await client.close();
