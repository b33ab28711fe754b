// Publish and subscribe; a subscriber has a connection of its own and makes another when it is lost.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Client } from 'kvorum/sdk';

const client = new Client(process.env.KVORUM_URL ?? 'kvorum://127.0.0.1:18001/default');
const subscriber = client.subscriber();

await subscriber.subscribe('news');
await subscriber.psubscribe('weather.*');

const heard = once(subscriber, 'message');
assert.equal(await client.publish('news', 'it works'), 1);
assert.deepEqual(await heard, ['news', 'it works']);

const matched = once(subscriber, 'pmessage');
await client.publish('weather.today', 'sunny');
assert.deepEqual(await matched, ['weather.*', 'weather.today', 'sunny']);

await subscriber.close();
await client.close();
