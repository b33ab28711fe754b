import { expect, test } from 'vitest';
import { noteWitness } from '../../../../src/datanode/commands/server/witness.ts';
import { replyBytes } from '../../../../src/datanode/resp/reply-bytes.ts';
import { openDoors, RawClient } from '../../server/doors.ts';
import { FakeNode } from '../fake-node.ts';
import { LonePartition } from '../lone-partition.ts';
import { ask } from '../node-text.ts';
import { replyText } from '../reply-text.ts';

test('DEBUG SLEEP holds back the connection', async () => {
  const node = new FakeNode();
  expect(await ask(node, 'DEBUG SLEEP 0.25')).toBe('+OK\r\n');
  expect(node.slept).toEqual([250]);
  expect(await ask(node, 'DEBUG SLEEP 1e9')).toMatch(/^-ERR DEBUG SLEEP takes 0 to 60/);
  expect(await ask(node, 'DEBUG SLEEP soon')).toMatch(/^-ERR DEBUG SLEEP takes 0 to 60/);
});

test('other clients are served while one sleeps, and its own commands wait', async () => {
  const doors = await openDoors();
  const [sleeper, other] = [
    await RawClient.open(doors.gateway),
    await RawClient.open(doors.gateway),
  ];
  try {
    sleeper.send('DEBUG SLEEP 0.4', 'PING');
    for (let at = 0; at < 5; at++) expect(await other.ask('PING', '+PONG\r\n')).toBe('+PONG\r\n');
    expect(sleeper.text).toBe('');
    await sleeper.until((text) => text === '+OK\r\n+PONG\r\n');
  } finally {
    sleeper.end();
    other.end();
    await doors.close();
  }
});

test('what else DEBUG can do in Redis is refused by name', async () => {
  const doors = await openDoors();
  const client = await RawClient.open(doors.gateway);
  for (const word of ['RELOAD', 'SEGFAULT', 'JMAP', 'NOSUCH']) {
    const refused = `-ERR unknown subcommand '${word}'. Try DEBUG HELP.\r\n`;
    expect(await client.ask(`DEBUG ${word}`, refused)).toBe(refused);
  }
  client.end();
  await doors.close();
});

test('DEBUG SET-ACTIVE-EXPIRE switches', async () => {
  const node = new FakeNode();
  expect(await ask(node, 'DEBUG SET-ACTIVE-EXPIRE 0')).toBe('+OK\r\n');
  expect(node.activeExpire).toBe(false);
  expect(await ask(node, 'DEBUG SET-ACTIVE-EXPIRE 1')).toBe('+OK\r\n');
  expect(node.activeExpire).toBe(true);
  expect(await ask(node, 'DEBUG SET-ACTIVE-EXPIRE maybe')).toMatch(/^-ERR .* takes 0 or 1/);
});

test('DEBUG OBJECT tells the encoding of a key that is there', async () => {
  const partition = await LonePartition.open();
  await partition.call('SET', 'number', '12');
  await partition.call('SET', 'word', 'abc', 'PX', '1000');
  expect(replyText(await partition.call('DEBUG', 'OBJECT', 'number'))).toMatch(
    /^Value at:0x[0-9a-f]+ refcount:1 encoding:int serializedlength:\d+ lru:0 lru_seconds_idle:0$/,
  );
  const word = await partition.call('DEBUG', 'OBJECT', 'word');
  expect(replyText(word)).toContain(' encoding:embstr ');
  expect(replyBytes(word)).toBeLessThan(500);
  expect(replyText(await partition.call('DEBUG', 'OBJECT', 'none'))).toBe(
    '(error) ERR no such key',
  );
});

test('DEBUG WITNESS keeps what it is told of commands, until that is taken', async () => {
  const node = new FakeNode();
  const { session } = node;
  expect(await ask(node, 'DEBUG WITNESS TAKE')).toMatch(/^-ERR this connection keeps no witnesses/);
  noteWitness(session, 7, { term: 2, index: 9, upTo: 9, at: 1 });
  expect(session.witnesses).toBeUndefined();
  expect(await ask(node, 'DEBUG WITNESS ON')).toBe('+OK\r\n');
  expect(await ask(node, 'DEBUG WITNESS TAKE')).toBe('*0\r\n');
  noteWitness(session, 7, { term: 2, index: 9, upTo: 9, at: 1 });
  const fields = ['group', 7, 'term', 2, 'index', 9, 'up-to', 9, 'at', 1];
  const wire = fields.map((one) =>
    typeof one === 'number' ? `:${one}\r\n` : `$${one.length}\r\n${one}\r\n`,
  );
  expect(await ask(node, 'DEBUG WITNESS TAKE')).toBe(`*1\r\n*10\r\n${wire.join('')}`);
  expect(await ask(node, 'DEBUG WITNESS TAKE')).toBe('*0\r\n');
  // whoever never takes them costs a bounded memory
  for (let index = 1; index <= 1_030; index++) {
    noteWitness(session, 7, { term: 2, index, upTo: index, at: 0 });
  }
  expect(session.witnesses).toHaveLength(1_024);
  expect(session.witnesses?.at(-1)?.index).toBe(1_030);
  expect(await ask(node, 'DEBUG WITNESS off')).toBe('+OK\r\n');
  expect(session.witnesses).toBeUndefined();
  expect(await ask(node, 'DEBUG WITNESS maybe')).toMatch(
    /^-ERR DEBUG WITNESS takes ON, OFF or TAKE/,
  );
  await ask(node, 'DEBUG WITNESS ON');
  await ask(node, 'RESET');
  expect(session.witnesses).toBeUndefined();
});
