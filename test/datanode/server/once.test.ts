/** Commands under sessions through the doors: what routes them, what they need, EXEC, both protocols. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Doors, openDoors, RawClient } from './doors.ts';

const MARK = 'that-was-all';
let doors: Doors;
let client: RawClient;

beforeAll(async () => {
  doors = await openDoors();
  client = await RawClient.open(doors.gateway);
});

afterAll(() => doors?.close());

async function answer(...commands: string[]): Promise<string> {
  const before = client.text.length;
  client.send(...commands, `ECHO ${MARK}`);
  const text = await client.until((all) => all.indexOf(MARK, before) >= 0 && all.endsWith('\r\n'));
  return text.slice(before, text.lastIndexOf(`$${MARK.length}\r\n${MARK}`));
}

test('a transaction that is sent again under its sequence is not run again', async () => {
  expect(await answer('KV.SESSION OPEN session-1 a')).toBe('+OK\r\n');
  const sent = ['MULTI', 'INCR a', 'RPUSH {a}l x', 'KV.ONCE session-1 1 1 EXEC'];
  const text = '+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n:1\r\n';
  expect(await answer(...sent)).toBe(text);
  expect(await answer(...sent)).toBe(text);
  expect(await answer('GET a')).toBe('$1\r\n1\r\n');
  expect(await answer('KV.ONCE session-1 2 2 EXEC')).toBe('-ERR EXEC without MULTI\r\n');
});

test('the command within decides whether it is one, and which keys it has', async () => {
  expect(await answer('KV.ONCE session-1 3 3 WHAT a')).toMatch(/^-ERR unknown command 'WHAT'/);
  expect(await answer('KV.ONCE session-1 3 3 GET a b')).toMatch(/^-ERR wrong number .* 'get'/);
  expect(await answer('COMMAND GETKEYS KV.ONCE session-1 3 3 MSET a 1 {a}b 2')).toBe(
    '*2\r\n$1\r\na\r\n$4\r\n{a}b\r\n',
  );
});

test('a reply is given again in the protocol of whoever asks', async () => {
  expect(await answer('KV.ONCE session-1 4 3 HSET {a}h f v')).toBe(':1\r\n');
  expect(await answer('KV.ONCE session-1 5 3 HGETALL {a}h')).toBe('*2\r\n$1\r\nf\r\n$1\r\nv\r\n');
  await answer('HELLO 3');
  expect(await answer('KV.ONCE session-1 5 3 HGETALL {a}h')).toBe('%1\r\n$1\r\nf\r\n$1\r\nv\r\n');
});

test('says what it knows', async () => {
  expect(await answer('KV.SESSION HELP')).toMatch(/^\*\d+\r\n[$+].*KV\.SESSION/);
});
