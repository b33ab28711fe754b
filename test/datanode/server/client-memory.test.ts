/** What requests of all clients hold together. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createRequestParser } from '../../../src/datanode/resp/request-parser.ts';
import { HELD_BYTES_MIN, RequestMemory } from '../../../src/datanode/server/request-memory.ts';
import { type Doors, openDoors, RawClient } from './doors.ts';

function holder(name: string, gone: string[]) {
  return { letGo: (bytes: number) => gone.push(`${name} ${bytes}`) };
}

describe('the memory of requests', () => {
  test('lets whoever holds most go, until the others have room', () => {
    const gone: string[] = [];
    const memory = new RequestMemory(10 * HELD_BYTES_MIN);
    const [a, b, c] = ['a', 'b', 'c'].map((name) => holder(name, gone));
    memory.note(a!, 2 * HELD_BYTES_MIN);
    memory.note(b!, 5 * HELD_BYTES_MIN);
    expect([memory.isTight, gone]).toEqual([true, []]);
    memory.note(c!, 4 * HELD_BYTES_MIN);
    expect(gone).toEqual([`b ${5 * HELD_BYTES_MIN}`]);
    expect(memory.bytes).toBe(6 * HELD_BYTES_MIN);
  });

  test('forgets who holds little, and who has gone', () => {
    const memory = new RequestMemory(10 * HELD_BYTES_MIN);
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
  const clients: RawClient[] = [];

  beforeEach(async () => {
    doors = await openDoors(1, { requestsBytesMax: 10_000_000 });
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

  /** 2.6 MB in memory, of 60 KB on the wire. */
  const holding = Buffer.from(`*1000000\r\n${'$0\r\n\r\n'.repeat(10_000)}`);

  test('closes some of those who hold most and serves the others', async () => {
    const other = await open();
    const count = 5;
    for (let at = 0; at < count; at++) (await open()).socket.write(holding);
    await expect.poll(() => clients.some(({ closed }) => closed), { timeout: 30_000 }).toBe(true);
    expect(doors.warnings).toContain(
      'requests of clients take too much memory: whose take most is disconnected',
    );
    expect(await other.ask('PING', '+PONG\r\n')).toBe('+PONG\r\n');
    expect(clients.filter(({ closed }) => closed).length).toBeLessThan(count / 2);
  });

  test('counts what transactions queue', async () => {
    const client = await open();
    const line = `SET k ${'v'.repeat(1_000_000)}`;
    client.send('MULTI', ...Array.from({ length: 20 }, () => line));
    await expect.poll(() => client.closed, { timeout: 30_000 }).toBe(true);
  });
});
