/** Namespaces as clients choose them, and users who may see one only, on a whole node. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LoneNode } from '../../storage/lone-node.ts';
import type { RawClient } from './doors.ts';
import { RawClients } from './raw-clients.ts';

const dir = mkdtempSync(join(tmpdir(), 'kvorum-namespaces-'));
const node = new LoneNode(dir);
const clients = new RawClients();

beforeAll(async () => {
  node.startDriver();
  await node.start();
  for (const name of ['db3', 'shop']) await addNamespace(name);
});

afterAll(async () => {
  clients.end();
  await node.stop();
  rmSync(dir, { recursive: true, force: true });
});

async function addNamespace(name: string): Promise<void> {
  await node.operator.createNamespace({ name, hash: 'slots', partitions: 2, replicas: 1 });
}

const open = (door: 'gateway' | 'cluster' = 'gateway') => clients.open(node.datanode.ports[door]);

async function asks(client: RawClient, ...script: (readonly [string, string])[]): Promise<void> {
  for (const [command, answer] of script) {
    expect(await client.ask(command, answer), command).toBe(answer);
  }
}

const OUT_OF_RANGE = '-ERR DB index is out of range\r\n';
const noAccess = (name: string) =>
  `-NOPERM this user has no permissions to access the namespace '${name}'\r\n`;

test('SELECT takes a number or a name; keys of one namespace are in no other', async () => {
  const client = await open();
  await expect.poll(() => client.ask('SELECT db3', '+OK\r\n')).toBe('+OK\r\n');
  await asks(
    client,
    ['SELECT shop', '+OK\r\n'],
    ['SET k in-shop', '+OK\r\n'],
    ['SELECT 3', '+OK\r\n'],
    ['GET k', '$-1\r\n'],
    ['SET k in-3', '+OK\r\n'],
    ['SELECT 0', '+OK\r\n'],
    ['GET k', '$-1\r\n'],
    ['SELECT default', '+OK\r\n'],
    ['SELECT db3', '+OK\r\n'],
    ['GET k', '$4\r\nin-3\r\n'],
    ['SELECT 4', OUT_OF_RANGE],
    ['SELECT -1', OUT_OF_RANGE],
    ['SELECT 03', OUT_OF_RANGE],
    ['SELECT none', OUT_OF_RANGE],
    ['GET k', '$4\r\nin-3\r\n'],
    ['FLUSHALL', '+OK\r\n'],
    ['SELECT shop', '+OK\r\n'],
    ['GET k', '$7\r\nin-shop\r\n'],
    ['RESET', '+RESET\r\n'],
    ['GET k', '$-1\r\n'],
  );
  expect(await client.ask('MOVE k 3', '-ERR MOVE')).toMatch(/^-ERR MOVE is not offered .*RESTORE/);
  expect(await client.ask('SWAPDB 0 3', '-ERR')).toMatch(/^-ERR SWAPDB is not offered .*SELECT/);
  await asks(
    client,
    ['SELECT 3', '+OK\r\n'],
    ['SET {k}1 a', '+OK\r\n'],
    ['COPY {k}1 {k}2', ':1\r\n'],
  );
  for (const line of [
    'COPY {k}1 {k}3 DB 0',
    'COPY {k}1 {k}3 REPLACE db 0',
    'COPY {k}1 {k}3 DB 3',
  ]) {
    expect(await client.ask(line, '-ERR')).toMatch(/^-ERR COPY with DB is not offered .*RESTORE/);
  }
  await asks(client, ['EXISTS {k}3', ':0\r\n'], ['SELECT 0', '+OK\r\n']);
  const cluster = await open('cluster');
  await asks(
    cluster,
    ['SELECT 0', '+OK\r\n'],
    ['SELECT 3', '-ERR SELECT is not allowed in cluster mode\r\n'],
    ['SELECT shop', '-ERR SELECT is not allowed in cluster mode\r\n'],
  );
});

test('a transaction and what is watched for it belong to one namespace', async () => {
  const client = await open();
  await asks(client, ['MULTI', '+OK\r\n'], ['SET m 1', '+QUEUED\r\n']);
  expect(await client.ask('SELECT 3', '-ERR')).toMatch(/^-ERR SELECT of another namespace/);
  expect(await client.ask('EXEC', '-EXECABORT')).toMatch(/^-EXECABORT/);
  await asks(
    client,
    ['MULTI', '+OK\r\n'],
    ['SELECT 0', '+QUEUED\r\n'],
    ['EXEC', '*1\r\n+OK\r\n'],
    ['WATCH m', '+OK\r\n'],
  );
  expect(await client.ask('SELECT 3', '-ERR')).toMatch(/^-ERR SELECT of another namespace/);
  await asks(client, ['UNWATCH', '+OK\r\n'], ['SELECT 3', '+OK\r\n']);
});

test('a user bound to a namespace begins there, on every door, and sees no other', async () => {
  const admin = await open();
  await asks(
    admin,
    ['ACL SETUSER eve on >pw ~* &* +@all namespace=shop', '+OK\r\n'],
    ['SELECT shop', '+OK\r\n'],
    ['SET mine 1', '+OK\r\n'],
  );
  const eve = await open();
  await asks(
    eve,
    ['AUTH eve pw', '+OK\r\n'],
    ['GET mine', '$1\r\n1\r\n'],
    ['SELECT 3', noAccess('db3')],
    ['SELECT 0', noAccess('default')],
    ['SELECT none', noAccess('none')],
    ['SELECT shop', '+OK\r\n'],
    ['GET mine', '$1\r\n1\r\n'],
  );
  expect(await admin.ask('ACL LOG 1', '*1\r\n'.padEnd(40))).toMatch(/reason\r\n\$9\r\nnamespace/);
  expect(await admin.ask('ACL LIST', '*2\r\n')).toContain('namespace=shop ~* &* +@all');
  const shown = await admin.ask('ACL GETUSER eve', '*14\r\n');
  expect(shown).toMatch(/^\*14\r\n.*selectors\r\n\*0\r\n\$9\r\nnamespace\r\n\$4\r\nshop\r\n$/s);
  const cluster = await open('cluster');
  await asks(
    cluster,
    ['AUTH eve pw', '+OK\r\n'],
    ['SELECT 0', '+OK\r\n'],
    ['GET mine', '$1\r\n1\r\n'],
  );
  await asks(eve, ['RESET', '+RESET\r\n'], ['GET mine', '$-1\r\n'], ['SELECT 3', '+OK\r\n']);
});

test('who is bound elsewhere while being connected is disconnected', async () => {
  const admin = await open();
  await asks(admin, ['ACL SETUSER mel on >pw ~* +@all', '+OK\r\n']);
  const [mel, there] = [await open(), await open()];
  await asks(mel, ['AUTH mel pw', '+OK\r\n'], ['GET mine', '$-1\r\n']);
  await asks(there, ['AUTH mel pw', '+OK\r\n'], ['SELECT shop', '+OK\r\n']);
  await asks(admin, ['ACL SETUSER mel namespace=shop', '+OK\r\n']);
  await mel.until(() => mel.closed);
  await asks(there, ['GET mine', '$1\r\n1\r\n']);
  await asks(admin, ['ACL SETUSER mel allnamespaces', '+OK\r\n']);
  await asks(there, ['SELECT 3', '+OK\r\n'], ['SELECT 0', '+OK\r\n']);
});

test('everybody can be bound: new connections begin where the default user is', async () => {
  const admin = await open();
  await asks(
    admin,
    ['ACL SETUSER root on >pw ~* &* +@all', '+OK\r\n'],
    ['AUTH root pw', '+OK\r\n'],
    ['ACL SETUSER default namespace=shop', '+OK\r\n'],
  );
  const client = await open();
  await asks(
    client,
    ['GET mine', '$1\r\n1\r\n'],
    ['SELECT 0', noAccess('default')],
    ['RESET', '+RESET\r\n'],
    ['GET mine', '$1\r\n1\r\n'],
  );
  await asks(admin, ['ACL SETUSER default allnamespaces', '+OK\r\n']);
});
