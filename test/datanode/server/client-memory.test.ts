/** What requests of all clients hold together. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createRequestParser } from '../../../src/datanode/resp/request-parser.ts';
import { ClientMemory, HELD_BYTES_MIN } from '../../../src/datanode/server/client-memory.ts';
import { type Doors, openDoors } from './doors.ts';
import { RawClients } from './raw-clients.ts';

function holder(name: string, gone: string[]) {
  return { letGo: (bytes: number) => gone.push(`${name} ${bytes}`) };
}

describe('the memory of requests', () => {
  test('lets whoever holds most go, until the others have room', () => {
    const gone: string[] = [];
    const memory = new ClientMemory(10 * HELD_BYTES_MIN);
    const [a, b, c] = ['a', 'b', 'c'].map((name) => holder(name, gone));
    memory.note(a!, 2 * HELD_BYTES_MIN);
    memory.note(b!, 5 * HELD_BYTES_MIN);
    expect([memory.isTight, gone]).toEqual([true, []]);
    memory.note(c!, 4 * HELD_BYTES_MIN);
    expect(gone).toEqual([`b ${5 * HELD_BYTES_MIN}`]);
    expect(memory.bytes).toBe(6 * HELD_BYTES_MIN);
  });

  test('counts what many share once, as long as one of them holds it', () => {
    const gone: string[] = [];
    const memory = new ClientMemory(10 * HELD_BYTES_MIN);
    const message = Buffer.alloc(4 * HELD_BYTES_MIN);
    const holders = Array.from({ length: 50 }, (_, at) => holder(`${at}`, gone));
    for (const one of holders) {
      memory.share(message);
      memory.note(one, 0, message.length);
    }
    expect([memory.bytes, gone]).toEqual([message.length, []]);
    for (const one of holders.slice(1)) {
      memory.unshare(message);
      memory.note(one, 0);
    }
    expect(memory.bytes).toBe(message.length);
    memory.unshare(message);
    memory.note(holders[0]!, 0);
    expect(memory.bytes).toBe(0);
  });

  test('lets nobody go for what another gives back as it goes', () => {
    const gone: string[] = [];
    const memory = new ClientMemory(10 * HELD_BYTES_MIN);
    for (const [name, parts] of [
      ['a', 4],
      ['b', 7],
    ] as const) {
      const message = Buffer.alloc(parts * HELD_BYTES_MIN);
      memory.share(message);
      const letGo = () => {
        gone.push(name);
        memory.unshare(message);
      };
      memory.note({ letGo }, 0, message.length);
    }
    expect([gone, memory.bytes]).toEqual([['b'], 4 * HELD_BYTES_MIN]);
  });

  test('forgets who holds little, and who has gone', () => {
    const memory = new ClientMemory(10 * HELD_BYTES_MIN);
    const a = holder('a', []);
    memory.note(a, 9 * HELD_BYTES_MIN);
    memory.note(a, HELD_BYTES_MIN - 1);
    expect([memory.bytes, memory.isTight]).toEqual([0, false]);
  });
});

test('a request that has not come as a whole counts with its arguments', () => {
  const parser = createRequestParser({ onRequest: () => {}, onProtocolError: () => {} });
  parser.feed(Buffer.from('*1000000\r\n'));
  expect(parser.heldBytes).toBeLessThan(1_000);
  parser.feed(Buffer.from('$0\r\n\r\n'.repeat(10_000)));
  expect(parser.heldBytes).toBeGreaterThan(1_000_000);
  const whole = createRequestParser({ onRequest: () => {}, onProtocolError: () => {} });
  whole.feed(Buffer.from('*1\r\n$4\r\nPING\r\n'));
  expect(whole.heldBytes).toBe(0);
});

describe('a node whose clients hold too much', () => {
  let doors: Doors;
  const clients = new RawClients();

  beforeEach(async () => {
    doors = await openDoors(1, { requestsBytesMax: 10_000_000, repliesBytesMax: 20_000_000 });
  });

  afterEach(async () => {
    clients.end();
    await doors.close();
  });

  const open = () => clients.open(doors.gateway);

  /** 2.6 MB in memory, of 60 KB on the wire. */
  const holding = Buffer.from(`*1000000\r\n${'$0\r\n\r\n'.repeat(10_000)}`);

  test('closes some of those who hold most and serves the others', async () => {
    const other = await open();
    const count = 5;
    for (let at = 0; at < count; at++) (await open()).socket.write(holding);
    await expect
      .poll(() => clients.all.some(({ closed }) => closed), { timeout: 30_000 })
      .toBe(true);
    expect(doors.warnings).toContain(
      'requests of clients take too much memory: whose take most is disconnected',
    );
    expect(await other.ask('PING', '+PONG\r\n')).toBe('+PONG\r\n');
    expect(clients.all.filter(({ closed }) => closed).length).toBeLessThan(count / 2);
  });

  test('counts what transactions queue', async () => {
    const client = await open();
    const line = `SET k ${'v'.repeat(1_000_000)}`;
    client.send('MULTI', ...Array.from({ length: 20 }, () => line));
    await expect.poll(() => client.closed, { timeout: 30_000 }).toBe(true);
  });

  test('closes some of those who do not take their replies and serves the others', async () => {
    const other = await open();
    // larger than what the system takes for a client that does not read
    const value = 'v'.repeat(8_000_000);
    other.send(`SET k ${value}`);
    await other.until((text) => text.includes('+OK'));
    const count = 5;
    for (let at = 0; at < count; at++) {
      const client = await open();
      client.socket.pause();
      client.send('GET k');
    }
    const warning =
      'replies that clients do not take need too much memory: whose are most is disconnected';
    await expect
      .poll(() => doors.warnings.filter((text) => text === warning).length, { timeout: 30_000 })
      .toBeGreaterThan(0);
    expect(await other.ask('PING', '+PONG\r\n')).toMatch(/\+PONG\r\n$/);
    await expect.poll(() => doors.server.info().connectedClients).toBeLessThan(1 + count);
    expect(doors.server.info().connectedClients).toBeGreaterThan(1 + 1);
  });

  const message = 'v'.repeat(8_000_000);

  async function slowSubscribers(channels: readonly string[]): Promise<void> {
    for (const channel of channels) {
      const client = await open();
      client.send(`SUBSCRIBE ${channel}`);
      await client.until((text) => text.includes(':1'));
      client.socket.pause();
    }
  }

  test('a message to many who have not taken it yet counts once', async () => {
    const other = await open();
    await slowSubscribers(Array.from({ length: 8 }, () => 'c'));
    other.send(`PUBLISH c ${message}`);
    await other.until((text) => text.includes(':8'));
    expect([doors.server.info().connectedClients, doors.warnings]).toEqual([9, []]);
    for (const client of clients.all.slice(1)) {
      client.socket.resume();
      await client.until((text) => text.length > message.length);
    }
  });

  test('messages that are not the same count each', async () => {
    const other = await open();
    await slowSubscribers(Array.from({ length: 8 }, (_, at) => `c${at}`));
    for (let at = 0; at < 8; at++) other.send(`PUBLISH c${at} ${message}`);
    await expect.poll(() => doors.warnings.length, { timeout: 30_000 }).toBeGreaterThan(0);
    other.send('PING');
    await other.until((text) => text.includes('+PONG'));
  });

  test('forgets replies once they are taken', async () => {
    const other = await open();
    other.send(`SET k ${'v'.repeat(8_000_000)}`);
    await other.until((text) => text.includes('+OK'));
    for (let at = 0; at < 5; at++) {
      const client = await open();
      client.send('GET k', 'PING');
      await client.until((text) => text.endsWith('+PONG\r\n'));
    }
    expect(doors.server.info().connectedClients).toBe(6);
    expect(doors.warnings).toEqual([]);
  });
});
