// A client of a namespace: every command is a method that returns a promise.
import assert from 'node:assert/strict';
import { Client } from 'kvorum/sdk';

const client = new Client(process.env.KVORUM_URL ?? 'kvorum://127.0.0.1:18001/default');

await client.set('greeting', 'hello', 'EX', 60);
assert.equal(await client.get('greeting'), 'hello');
assert.deepEqual(await client.getBuffer('greeting'), Buffer.from('hello'));

await client.del('user:1');
await client.hset('user:1', { name: 'Ada', born: 1815 });
assert.deepEqual({ ...(await client.hgetall('user:1')) }, { name: 'Ada', born: '1815' });

// Keys of several partitions: split, sent to each, and merged in order.
await client.mset({ a: 1, b: 2, c: 3 });
assert.deepEqual(await client.mget('a', 'b', 'c', 'nobody'), ['1', '2', '3', null]);

// A command by its name.
assert.equal(await client.call('STRLEN', 'greeting'), 5);

await client.close();
