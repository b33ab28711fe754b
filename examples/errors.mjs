// Every failure is a ClientError: a code, whether the call may be made again, the partition.
import assert from 'node:assert/strict';
import { Client, ClientError, ReplyError } from 'kvorum/sdk';

const client = new Client(process.env.KVORUM_URL ?? 'kvorum://127.0.0.1:18001/default');

await client.set('text', 'not a list');
await assert.rejects(client.lpush('text', 1), (error) => {
  assert.ok(error instanceof ReplyError && error instanceof ClientError);
  assert.equal(error.code, 'WRONGTYPE');
  assert.equal(error.retriable, false);
  assert.equal(error.partition, client.partitionOf('text'));
  return true;
});

// A signal and a time limit, of one call.
const abort = new AbortController();
const waits = client.blpop('nothing-comes', 0, { signal: abort.signal });
abort.abort();
await assert.rejects(waits, { name: 'ClientError', code: /^(?:ABORTED|OUTCOME_UNKNOWN)$/ });
assert.equal(await client.get('text', { timeoutMs: 5_000 }), 'not a list');

assert.throws(() => new Client('kvorum://nowhere'), { code: 'BAD_OPTION' });

await client.close();
await assert.rejects(client.get('text'), { code: 'CLOSED' });
