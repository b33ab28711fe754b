/** CLIENT KILL: who is killed is no client any more for whatever comes behind the KILL. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { NULL_ARRAY } from '../../../src/datanode/resp/reply.ts';
import { eventually } from '../../cluster/cluster.ts';
import { type Doors, openDoors, type RawClient } from './doors.ts';
import { RawClients, whenBlocked } from './raw-clients.ts';
import { keepWithdrawals, type ScriptedPartition } from './scripted-partition.ts';

let doors: Doors;
let killer: RawClient;
const clients = new RawClients();

beforeEach(async () => {
  doors = await openDoors(4, { holdMs: 300, outcomeMs: 300 });
  killer = await open();
});

afterEach(async () => {
  clients.end();
  await doors.close();
});

const open = () => clients.open(doors.gateway);

const blocked = (count: number) => whenBlocked(doors, count);

/** What the killer's pipeline is answered, PING's at its end. */
async function run(...commands: string[]): Promise<string> {
  const before = killer.text.length;
  killer.send(...commands, 'PING');
  const text = await killer.until((all) => all.slice(before).includes('+PONG\r\n'));
  return text.slice(before).replace('+PONG\r\n', '');
}

/** A client that waits for an element of {q}l, its id and its address. */
async function waiter(command = 'BLPOP {q}l 0', user?: string) {
  const client = await open();
  if (user !== undefined) await client.ask(`AUTH ${user} x`, '+OK\r\n');
  const id = (await client.ask('CLIENT ID', ':1\r\n')).slice(1, -2);
  client.send(command);
  await blocked(1);
  const { address, port } = client.socket.address() as { address: string; port: number };
  return { client, id, address: `${address}:${port}`, before: client.text };
}

/** Every EXEC finds that what it watched has changed. */
function breakWatches(partitions: readonly ScriptedPartition[]): void {
  for (const partition of partitions) {
    const execute = partition.execute.bind(partition);
    partition.execute = async (batch) => {
      const isExec = /^exec$/i.test(batch.lines[0]![0]!.toString());
      return isExec ? [{ ok: true, reply: NULL_ARRAY }] : execute(batch);
    };
  }
}

describe('a client that waits and is killed', () => {
  test.each([
    [['CLIENT KILL ID ?', 'RPUSH {q}l v', 'LLEN {q}l'], ':1\r\n:1\r\n:1\r\n'],
    [['CLIENT KILL @', 'RPUSH {q}l v', 'LLEN {q}l'], '+OK\r\n:1\r\n:1\r\n'],
    [['CLIENT KILL TYPE normal', 'RPUSH {q}l v', 'LLEN {q}l'], ':1\r\n:1\r\n:1\r\n'],
    [
      ['MULTI', 'CLIENT KILL ID ?', 'RPUSH {q}l v', 'EXEC', 'LLEN {q}l'],
      '+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n:1\r\n:1\r\n',
    ],
    [
      ['MULTI', 'RPUSH {q}l v', 'PING', 'CLIENT KILL ID ?', 'EXEC', 'LLEN {q}l'],
      '+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n:1\r\n+PONG\r\n:1\r\n:1\r\n',
    ],
  ])('is given nothing of what comes behind: %j', async (commands, answer) => {
    const { client, id, address, before } = await waiter();
    const lines = commands.map((line) => line.replace('?', id).replace('@', address));
    const { length } = killer.text;
    killer.send(...lines);
    const text = await killer.until((all) => all.length >= length + answer.length);
    expect(text.slice(length)).toBe(answer);
    await eventually(30_000, 'it is closed', () => client.closed);
    expect(client.text).toBe(before);
    await blocked(0);
  });

  test.each(['CLIENT KILL ID ?', 'ACL DELUSER bob'])(
    'by %s is answered for only when its wait is withdrawn',
    async (command) => {
      await killer.ask('ACL SETUSER bob on nopass ~* +@all', '+OK\r\n');
      const { id } = await waiter('BLPOP {q}l 0', 'bob');
      const tell = keepWithdrawals(doors.partitions);
      const { length } = killer.text;
      killer.send(command.replace('?', id));
      await sleep(50);
      const other = await open();
      await other.ask('PING', '+PONG\r\n');
      await other.ask('PING', '+PONG\r\n');
      expect(killer.text.length).toBe(length);
      tell();
      expect((await killer.until((all) => all.length > length)).slice(length)).toBe(':1\r\n');
    },
  );

  test('is waited for no longer than any that goes, when its leader does not answer', async () => {
    for (const partition of doors.partitions) partition.isLeader = false;
    for (let group = 1; group <= 4; group++) doors.routes.setLeader(group, 'b', 1);
    const { id } = await waiter();
    expect(await run(`CLIENT KILL ID ${id}`)).toBe(':1\r\n');
  });

  test('while clients are paused does not run its command behind the pause', async () => {
    await run('CLIENT PAUSE 60000 WRITE');
    const client = await open();
    client.send('PING', 'BLPOP {q}l 0');
    await client.until((all) => all.includes('PONG'));
    const waits = doors.partitions.map((partition) => vi.spyOn(partition, 'wait'));
    const text = await run(
      ...['CLIENT KILL TYPE normal', 'CLIENT UNPAUSE', 'RPUSH {q}l v', 'LLEN {q}l'],
    );
    expect(text).toBe(':1\r\n+OK\r\n:1\r\n:1\r\n');
    for (const wait of waits) expect(wait).not.toHaveBeenCalled();
  });
});

describe('in a transaction', () => {
  test('nobody is killed when a watch is broken', async () => {
    const { client, id } = await waiter();
    const other = await open();
    await run('WATCH {q}w');
    breakWatches(doors.partitions);
    const text = await run('MULTI', `CLIENT KILL ID ${id}`, 'RPUSH {q}l v', 'EXEC');
    expect(text).toBe('+OK\r\n+QUEUED\r\n+QUEUED\r\n*-1\r\n');
    await other.ask('RPUSH {q}l later', ':1\r\n');
    await client.until((all) => all.endsWith('later\r\n'));
  });

  test('what tells of clients before the KILL tells of the killed', async () => {
    const { id } = await waiter();
    const text = await run(
      'MULTI',
      `CLIENT LIST ID ${id}`,
      `CLIENT KILL ID ${id}`,
      'GET x',
      'EXEC',
    );
    expect(text).toMatch(/\*3\r\n\$\d+\r\nid=\d+ .*\n\r\n:1\r\n\$-1\r\n$/);
  });

  test('who kills itself is answered what its EXEC did, and closed', async () => {
    const id = (await killer.ask('CLIENT ID', ':1\r\n')).slice(1, -2);
    const { length } = killer.text;
    killer.send('MULTI', 'RPUSH {q}l v', `CLIENT KILL ID ${id} SKIPME no`, 'EXEC', 'DEL {q}l');
    await killer.until(() => killer.closed);
    expect(killer.text.slice(length)).toBe('+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n:1\r\n');
    const other = await open();
    expect(await other.ask('LLEN {q}l', ':1\r\n')).toBe(':1\r\n');
  });

  test('nothing is stored when the killer goes before those that it kills have gone', async () => {
    const { id } = await waiter();
    const tell = keepWithdrawals(doors.partitions);
    killer.send('MULTI', `CLIENT KILL ID ${id}`, 'RPUSH {q}l v', 'EXEC');
    await eventually(30_000, 'the waiter is killed', () => {
      return doors.server.info().connectedClients === 1;
    });
    killer.socket.resetAndDestroy();
    await eventually(30_000, 'the killer has gone', () => {
      return doors.server.info().connectedClients === 0;
    });
    tell();
    const other = await open();
    expect(await other.ask('LLEN {q}l', ':1\r\n')).toBe(':0\r\n');
    expect(doors.server.info().errorStats.size).toBe(1);
  });
});

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
