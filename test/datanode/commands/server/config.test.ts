import { beforeEach, expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { encodeReply } from '../../../../src/datanode/resp/encode-reply.ts';
import { FakeNode } from '../fake-node.ts';
import { ask } from '../node-text.ts';
import { hasRedis, RealRedis } from '../real-redis.ts';

let node: FakeNode;
beforeEach(() => {
  node = new FakeNode();
});

test('CONFIG GET finds by pattern, in any case, and by several', async () => {
  expect(await ask(node, 'CONFIG GET save')).toBe('*2\r\n$4\r\nsave\r\n$0\r\n\r\n');
  const bulk = await ask(node, 'CONFIG GET proto-max-bulk-len');
  expect(bulk).toContain(`\r\n${limits.requestBytesMax}\r\n`);
  expect(await ask(node, 'CONFIG GET Save SAVE')).toBe('*2\r\n$4\r\nSave\r\n$0\r\n\r\n');
  expect(await ask(node, 'CONFIG GET APPEND*')).toContain('appendfsync\r\n$6\r\nalways');
  expect(await ask(node, 'CONFIG GET value-bytes-max databases')).toMatch(/^\*4\r\n/);
  expect(await ask(node, 'CONFIG GET nothing')).toBe('*0\r\n');
  node.session.protocol = 3;
  expect(await ask(node, 'CONFIG GET save')).toBe('%1\r\n$4\r\nsave\r\n$0\r\n\r\n');
});

test.skipIf(!hasRedis)('sizes at which encodings change are those of a stock server', async () => {
  const redis = await RealRedis.start();
  try {
    const names = [
      ...['hash-max-listpack-entries', 'hash-max-listpack-value', 'hash-max-ziplist-entries'],
      ...['zset-max-listpack-entries', 'zset-max-listpack-value', 'set-max-intset-entries'],
      ...['list-max-listpack-size', 'list-compress-depth', 'hll-sparse-max-bytes'],
    ];
    for (const name of names) {
      const stock = encodeReply(await redis.call('CONFIG', 'GET', name), 2).toString();
      expect(await ask(node, `CONFIG GET ${name}`)).toBe(stock);
    }
  } finally {
    await redis.stop();
  }
});

test('CONFIG GET takes no more patterns than a turn can match', async () => {
  const patterns = (count: number) => Array.from({ length: count }, () => '*a*a*');
  expect(await ask(node, `CONFIG GET ${patterns(2_046).join(' ')}`)).toContain('acllog-max-len');
  expect(await ask(node, `CONFIG GET ${patterns(2_047).join(' ')}`)).toBe(
    '-ERR too many patterns: fewer than 2048 at once\r\n',
  );
});

test('CONFIG SET sets what may be set, all or nothing', async () => {
  expect(await ask(node, 'CONFIG SET maxclients 5 MAXCLIENTS 6')).toMatch(/duplicate parameter/);
  expect(await ask(node, 'CONFIG SET maxclients 5 slowlog-max-len 3')).toBe('+OK\r\n');
  expect(node.settings.get('maxclients')).toBe('5');
  expect(node.settings.get('slowlog-max-len')).toBe('3');
  expect(await ask(node, 'CONFIG SET appendonly yes')).toBe('+OK\r\n');
  expect(await ask(node, 'CONFIG SET appendonly no')).toMatch(
    /'appendonly'\) - can't set immutable/,
  );
  expect(await ask(node, 'CONFIG SET nothing 1')).toMatch(/^-ERR Unknown option .* - 'nothing'/);
  for (const other of ['', 'maxclients 6 ', 'save x ']) {
    expect(await ask(node, `CONFIG SET ${other}dir /tmp`)).toMatch(/^-ERR CONFIG SET failed/);
  }
  expect(await ask(node, 'CONFIG SET dir /tmp nothing 1')).toMatch(/'dir'\) - can't set protected/);
  expect(await ask(node, 'CONFIG SET nothing 1 dir /tmp')).toMatch(/^-ERR Unknown option/);
  expect(await ask(node, 'CONFIG SET maxclients 6 save x')).toMatch(/^-ERR CONFIG SET failed/);
  expect(await ask(node, 'CONFIG SET maxclients 0')).toMatch(/must be between 1 and/);
  expect(await ask(node, 'CONFIG SET slowlog-max-len 4 maxclients 30000')).toBe(
    "-ERR CONFIG SET failed (possibly related to argument 'maxclients') - too many for this system\r\n",
  );
  expect(node.settings.get('slowlog-max-len')).toBe('3');
  expect(await ask(node, 'CONFIG SET maxclients x')).toMatch(/parsed into an integer/);
  expect(await ask(node, 'CONFIG SET value-bytes-max 5')).toMatch(/can't set immutable config/);
  expect(node.settings.get('maxclients')).toBe('5');
  expect(await ask(node, 'CONFIG SET maxclients 1 save')).toBe('-ERR syntax error\r\n');
});

test('CONFIG SET of what the whole cluster has, together with what is the own', async () => {
  const { settings } = node;
  expect(await ask(node, 'CONFIG SET notify-keyspace-events KEA maxclients 9')).toBe('+OK\r\n');
  expect(settings.get('notify-keyspace-events')).toBe('KEA');
  expect(await ask(node, 'CONFIG SET maxclients 7 notify-keyspace-events Q')).toMatch(
    /^-ERR CONFIG SET failed .*'notify-keyspace-events'\) - Invalid event class character/,
  );
  expect(await ask(node, 'CONFIG SET maxclients 7 notify-keyspace-events gg')).toMatch(
    /'notify-keyspace-events'\) - it is kept in the metadata store: away/,
  );
  expect(settings.get('maxclients')).toBe('9');
  node.users.failure = new Error('away');
  expect(await ask(node, 'CONFIG SET notify-keyspace-events g requirepass x')).toMatch(/^-ERR/);
  expect(settings.get('notify-keyspace-events')).toBe('KEA');
});

test('CONFIG RESETSTAT, REWRITE, HELP, and MODULE LIST', async () => {
  expect(await ask(node, 'CONFIG RESETSTAT')).toBe('+OK\r\n');
  expect(node.statisticsResets).toBe(1);
  expect(await ask(node, 'CONFIG REWRITE')).toMatch(/^-ERR the config file is not rewritten/);
  expect(await ask(node, 'CONFIG HELP')).toContain('RESETSTAT');
  expect(await ask(node, 'MODULE LIST')).toBe('*0\r\n');
});
