import { beforeEach, describe, expect, test } from 'vitest';
import { FakeNode } from '../fake-node.ts';
import { ask } from '../node-text.ts';

let node: FakeNode;
beforeEach(() => {
  node = new FakeNode();
});

test('PING, ECHO', async () => {
  expect(await ask(node, 'PING')).toBe('+PONG\r\n');
  expect(await ask(node, 'PING hi')).toBe('$2\r\nhi\r\n');
  expect(await ask(node, 'PING a b')).toBe("-ERR wrong number of arguments for 'ping' command\r\n");
  expect(await ask(node, 'ECHO hi')).toBe('$2\r\nhi\r\n');
});

describe('HELLO', () => {
  test('switches the protocol and tells who is there', async () => {
    const two = await ask(node, 'HELLO');
    expect(two).toMatch(
      /^\*14\r\n\$6\r\nserver\r\n\$5\r\nredis\r\n\$7\r\nversion\r\n\$5\r\n7\.4\.0/,
    );
    expect(await ask(node, 'HELLO 3 SETNAME me')).toMatch(/^%7\r\n/);
    expect(node.session).toMatchObject({ protocol: 3, clientName: 'me' });
    await ask(node, 'HELLO 2 AUTH default anything');
    expect(node.session.protocol).toBe(2);
  });

  test('says what is wrong, and changes nothing', async () => {
    expect(await ask(node, 'HELLO 4')).toBe('-NOPROTO unsupported protocol version\r\n');
    for (const version of ['x', '03', '-0', '+3', '3x', '9223372036854775808']) {
      const text = '-ERR Protocol version is not an integer or out of range\r\n';
      expect(await ask(node, `HELLO ${version}`)).toBe(text);
    }
    expect(await ask(node, 'HELLO 3 AUTH someone pass')).toMatch(/^-WRONGPASS/);
    expect(await ask(node, 'HELLO 3 SETNAME')).toMatch(/^-ERR Syntax error in HELLO option/);
    expect(node.session).toMatchObject({ protocol: 2, clientName: '' });
  });
});

test('AUTH: the default user needs no password', async () => {
  expect(await ask(node, 'AUTH pass')).toMatch(/^-ERR AUTH <password> called without any password/);
  expect(await ask(node, 'AUTH default pass')).toBe('+OK\r\n');
  expect(await ask(node, 'AUTH other pass')).toMatch(/^-WRONGPASS/);
});

test('SELECT picks a namespace by number or name', async () => {
  expect(await ask(node, 'SELECT 2')).toBe('+OK\r\n');
  expect(node.session.namespace).toBe('db2');
  expect(await ask(node, 'SELECT 0')).toBe('+OK\r\n');
  expect(node.session.namespace).toBe('default');
  expect(await ask(node, 'SELECT 9')).toBe('-ERR DB index is out of range\r\n');
  expect(await ask(node, 'SELECT nowhere')).toBe('-ERR DB index is out of range\r\n');
  const cluster = new FakeNode('cluster');
  expect(await ask(cluster, 'SELECT 1')).toBe('-ERR SELECT is not allowed in cluster mode\r\n');
  expect(await ask(cluster, 'SELECT 0')).toBe('+OK\r\n');
  // where it is: the SDK says so to the follower-read port
  expect(await ask(cluster, 'SELECT default')).toBe('+OK\r\n');
  expect(await ask(cluster, 'SELECT db1')).toBe('-ERR SELECT is not allowed in cluster mode\r\n');
});

test('QUIT closes after its reply, RESET forgets what the connection set', async () => {
  await ask(node, 'HELLO 3 SETNAME me');
  expect(await ask(node, 'RESET')).toBe('+RESET\r\n');
  expect(node.session).toMatchObject({ protocol: 2, clientName: '', namespace: 'default' });
  expect(await ask(node, 'QUIT')).toBe('+OK\r\n');
  expect(node.session.ended).toBe('after-reply');
});

test('READONLY, READWRITE and ASKING belong to the cluster port', async () => {
  const cluster = new FakeNode('cluster');
  expect(await ask(cluster, 'READONLY')).toBe('+OK\r\n');
  expect(cluster.session.readOnly).toBe(true);
  expect(await ask(cluster, 'READWRITE')).toBe('+OK\r\n');
  expect(cluster.session.readOnly).toBe(false);
  expect(await ask(cluster, 'ASKING')).toBe('+OK\r\n');
  const disabled = '-ERR This instance has cluster support disabled\r\n';
  for (const command of ['READONLY', 'READWRITE', 'ASKING']) {
    expect(await ask(node, command)).toBe(disabled);
  }
});
