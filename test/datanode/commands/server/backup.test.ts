import { expect, test } from 'vitest';
import { crc32 } from '../../../../src/common/checksum.ts';
import { encodeReply } from '../../../../src/datanode/resp/encode-reply.ts';
import { crc64 } from '../../encoding/rdb/at-once.ts';
import { FakeNode, NOW_MS } from '../fake-node.ts';
import { ask } from '../node-text.ts';

test('KV.BACKUP OPEN tells of the state that is held', async () => {
  const node = new FakeNode();
  const text = await ask(node, 'KV.BACKUP OPEN 1');
  const lines = text.split('\r\n').filter((line) => !/^[$*]/.test(line));
  expect(lines.join(' ')).toBe(
    `id n1/0 group :7 index :12 term :3 time-ms :${NOW_MS} keys :1 expires :0 bytes :100 rdb-version :10 `,
  );
});

test('KV.BACKUP OPEN with LIBRARIES tells of these as well', async () => {
  const node = new FakeNode();
  expect(await ask(node, 'KV.BACKUP OPEN 1 libraries')).toMatch(/libraries\r\n:1\r\n$/);
  expect(await ask(node, 'KV.BACKUP OPEN 1 books')).toBe('-ERR syntax error\r\n');
  expect(await ask(node, 'KV.BACKUP OPEN 1 libraries 2')).toBe('-ERR syntax error\r\n');
});

test('KV.BACKUP NEXT gives its pages, until it is closed', async () => {
  const node = new FakeNode();
  await ask(node, 'KV.BACKUP OPEN 1');
  const page = '\0\u00011\u0001v';
  const sum = crc32(Buffer.from(page, 'latin1'));
  expect(await ask(node, 'KV.BACKUP NEXT n1/0 0')).toBe(
    `*5\r\n$5\r\n${page}\r\n:1\r\n:1\r\n:0\r\n:${sum}\r\n`,
  );
  expect(await ask(node, 'KV.BACKUP CLOSE n1/0')).toBe('+OK\r\n');
  expect(await ask(node, 'KV.BACKUP NEXT n1/0 0')).toBe('-ERR NOT_FOUND: no backup\r\n');
});

test('KV.BACKUP refuses what is no partition and no number', async () => {
  const node = new FakeNode();
  expect(await ask(node, 'KV.BACKUP OPEN 9')).toMatch(/^-ERR NOT_FOUND: there is no such/);
  expect(await ask(node, 'KV.BACKUP OPEN x')).toMatch(/^-ERR value is not an integer/);
  expect(await ask(node, 'KV.BACKUP OPEN -1')).toBe('-ERR syntax error\r\n');
  expect(await ask(node, 'KV.BACKUP HELP')).toContain('KV.BACKUP <subcommand>');
});

/** What the client is sent, and how it ends. */
async function file(node: FakeNode, command: string): Promise<Buffer> {
  const reply = await node.call(...command.split(' '));
  return Buffer.concat([...node.session.pushed, reply].map((one) => encodeReply(one, 2)));
}

const MARK = '0123456789'.repeat(4);

test.each(['SYNC', 'PSYNC ? -1'])('%s sends a file whose end is marked', async (command) => {
  const node = new FakeNode();
  expect(await ask(node, 'REPLCONF capa eof rdb-only 1')).toBe('+OK\r\n');
  const bytes = await file(node, command);
  const at = bytes.indexOf(`$EOF:${MARK}\r\n`);
  expect(bytes.toString('latin1', 0, at)).toMatch(
    command === 'SYNC' ? /^$/ : /^\+FULLRESYNC [0-9a-f]{40} 0\r\n$/,
  );
  expect(bytes.toString('latin1', bytes.length - 40)).toBe(MARK);
  const rdb = bytes.subarray(at + 47, -40);
  expect(rdb.toString('latin1', 0, 9)).toBe('REDIS0010');
  // a library, both partitions' keys, one behind the other, and the end
  const keys = '\u00f5\u0001l\0\u00010\u0001v\0\u00011\u0001v\u00ff';
  expect(rdb.toString('latin1', 0, rdb.length - 8)).toMatch(new RegExp(`\u00fb\u0002\0${keys}$`));
  expect(rdb.subarray(-8)).toEqual(crc64(rdb.subarray(0, -8)));
  expect(node.session.ended).toBe('after-reply');
});

test('who wants replication is told that there is none', async () => {
  const node = new FakeNode();
  expect(await ask(node, 'PSYNC ? -1')).toMatch(/^-ERR kvorum has no replicas of this kind/);
  expect(await ask(node, 'REPLCONF listening-port 6380')).toBe('+OK\r\n');
  expect(await ask(node, 'SYNC')).toMatch(/^-ERR kvorum has no replicas of this kind/);
  expect(await ask(node, 'REPLCONF rdb-only 1')).toBe('+OK\r\n');
  expect(await ask(node, 'REPLCONF rdb-only 0')).toBe('+OK\r\n');
  expect(await ask(node, 'PSYNC ? -1')).toMatch(/^-ERR kvorum has no replicas of this kind/);
  expect(node.session.pushed).toEqual([]);
});

test('REPLCONF refuses what it does not know', async () => {
  const node = new FakeNode();
  expect(await ask(node, 'REPLCONF capa')).toBe('-ERR syntax error\r\n');
  expect(await ask(node, 'REPLCONF frob 1')).toBe('-ERR Unrecognized REPLCONF option: frob\r\n');
  expect(await ask(node, 'REPLCONF rdb-filter-only functions')).toMatch(/^-ERR nothing of a file/);
});

test('SYNC without a word before it is sent a file', async () => {
  const node = new FakeNode();
  expect((await file(node, 'SYNC')).toString('latin1', 0, 5)).toBe('$EOF:');
});

test('at the cluster port it is of what CLUSTER SLOTS says that this node has', async () => {
  const node = new FakeNode('cluster');
  const text = (await file(node, 'SYNC')).toString('latin1');
  expect(text).toContain('\0\u00010\u0001v');
  expect(text).not.toContain('\0\u00011\u0001v');
  node.slotted = false;
  node.session.pushed.length = 0;
  expect((await file(node, 'SYNC')).toString('latin1')).toContain('\0\u00011\u0001v');
});

test('libraries come from a partition whose leader gives them out, once', async () => {
  const node = new FakeNode();
  node.backups.older.add(0);
  const text = (await file(node, 'SYNC')).toString('latin1');
  expect(text).toContain('\0\u00010\u0001v\u00f5\u0001l\0\u00011\u0001v');
});

test('a follower-read port sends no file', async () => {
  const node = new FakeNode('follower');
  await ask(node, 'REPLCONF rdb-only 1');
  expect(await ask(node, 'SYNC')).toMatch(/^-ERR this is the follower-read port/);
});

test('what fails in the midst ends the connection, for a file without its mark is none', async () => {
  const node = new FakeNode();
  await ask(node, 'REPLCONF rdb-only 1');
  node.backups.page = () => node.backups.open('default', 9, false).then(() => Promise.reject());
  await ask(node, 'SYNC');
  expect(node.session.ended).toBe('killed');
});

test('what fails before is told', async () => {
  const node = new FakeNode();
  await ask(node, 'REPLCONF rdb-only 1');
  node.backups.open = async () => node.backups.page('nothing', 0) as never;
  expect(await ask(node, 'SYNC')).toBe('-ERR no file: no backup\r\n');
  expect(node.session.ended).toBe('no');
});
