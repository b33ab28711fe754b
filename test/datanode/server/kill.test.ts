/** CLIENT KILL: who is killed is no client any more for whatever comes behind the KILL. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Doors, openDoors, RawClient } from './doors.ts';

let doors: Doors;
let killer: RawClient;
const clients: RawClient[] = [];

beforeEach(async () => {
  doors = await openDoors(4, { holdMs: 300, outcomeMs: 300 });
  killer = await open();
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.end();
  await doors.close();
});

async function open(): Promise<RawClient> {
  const client = await RawClient.open(doors.gateway);
  clients.push(client);
  return client;
}

/** What the killer's pipeline is answered, PING's at its end. */
async function run(...commands: string[]): Promise<string> {
  const before = killer.text.length;
  killer.send(...commands, 'PING');
  const text = await killer.until((all) => all.slice(before).includes('+PONG\r\n'));
  return text.slice(before).replace('+PONG\r\n', '');
}

describe('who is killed', () => {
  test('is no client any more', async () => {
    const two = [await open(), await open()];
    for (const client of two) await client.ask('PING', '+PONG\r\n');
    const kill = 'CLIENT KILL TYPE normal SKIPME yes';
    const text = await run(kill, kill, 'CLIENT LIST', 'INFO clients');
    expect(text).toMatch(/^:2\r\n:0\r\n\$\d+\r\nid=.*\n\r\n\$/);
    expect(text).toContain('connected_clients:1\r\n');
  });

  test('subscribes to nothing any more', async () => {
    const client = await open();
    client.send('SUBSCRIBE c', 'PSUBSCRIBE p*', 'SSUBSCRIBE s', 'PING');
    await client.until((all) => all.includes('pong'));
    const asks = ['PUBLISH c m', 'SPUBLISH s m', 'PUBSUB NUMPAT', 'PUBSUB SHARDCHANNELS'];
    const text = await run('CLIENT KILL TYPE pubsub', ...asks);
    expect(text).toBe(':1\r\n:0\r\n:0\r\n:0\r\n*0\r\n');
    expect(client.text).not.toContain('message');
  });
});
