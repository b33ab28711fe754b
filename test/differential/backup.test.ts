/** Backups of drawn data, loaded by a stock redis-server: every key, type, value and deadline. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { seededRandom } from '../../src/common/random.ts';
import { encodeReply } from '../../src/datanode/resp/encode-reply.ts';
import type { Reply } from '../../src/datanode/resp/reply.ts';
import { LonePartition } from '../datanode/commands/lone-partition.ts';
import { hasRedis, RealRedis } from '../datanode/commands/real-redis.ts';
import { decodeReply, replyText, sortedReplyText } from '../datanode/commands/reply-text.ts';
import { fileOf, pagesOf } from '../datanode/partition/backups/file.ts';
import { scale } from '../scale.ts';
import { drawWrite } from '../sim/commands/all.ts';
import { Draw } from '../sim/commands/draw.ts';

/** Deadlines of seconds are not over before they are compared. */
const YEAR_MS = 365 * 86_400_000;
const ofFields = /^h(?:p?expire(?:at)?|setex|getex)$/i;

/** Whatever would not be the same twice, or Redis of this version has not. */
function drawn(draw: Draw) {
  for (;;) {
    if (draw.chance(0.2)) draw.turn();
    const line = drawWrite(draw);
    if (!ofFields.test(String(line[0])) && !/^(?:flush|json)/i.test(String(line[0]))) return line;
  }
}

/** What of a key is compared, by its type. */
const reads: Readonly<Record<string, readonly (readonly string[])[]>> = {
  string: [['get']],
  list: [['lrange', '', '0', '-1']],
  set: [['smembers']],
  hash: [['hgetall']],
  zset: [['zrange', '', '0', '-1', 'withscores']],
  stream: [['xrange', '', '-', '+'], ['xinfo', 'groups', ''], ['xlen']],
};

interface Server {
  call(...words: (string | Buffer)[]): Promise<Reply>;
}

/** As RESP2 has it. */
function plain(reply: Reply): Reply {
  return decodeReply(encodeReply(reply, 2))!.reply;
}

function itemsOf(reply: Reply): readonly Reply[] {
  const found = plain(reply);
  return found.kind === 'array' ? found.items : [];
}

/** As numbers: this Redis prints 17 digits where others print the fewest. */
function scoresOf(reply: Reply): string {
  const texts = itemsOf(reply).map((item) => (item as { bytes: Buffer }).bytes.toString('latin1'));
  const number = (text: string) => (Object.is(Number(text), -0) ? '-0' : `${Number(text)}`);
  return texts.map((text, at) => (at % 2 === 0 || /inf/.test(text) ? text : number(text))).join();
}

async function contentOf(server: Server, key: Buffer): Promise<string> {
  const type = replyText(await server.call('type', key));
  const texts = [type, replyText(await server.call('pexpiretime', key))];
  for (const [name, ...rest] of reads[type] ?? []) {
    const words = rest.length === 0 ? [key] : rest.map((word) => (word === '' ? key : word));
    const reply = plain(await server.call(name!, ...words));
    if (type === 'zset') texts.push(scoresOf(reply));
    else texts.push(type === 'set' || type === 'hash' ? sortedReplyText(reply) : toldOf(reply));
  }
  if (type === 'stream') texts.push(...(await groupsOf(server, key)));
  return texts.join('\n');
}

/** Without the lag of groups, which this Redis counts otherwise (see exceptions.ts). */
function toldOf(reply: Reply): string {
  return replyText(reply).replace(/"lag"\s+-\s+\(.*\)( -?\d+)?/g, '');
}

/** What is pending, but for how long: the clocks are others. */
async function groupsOf(server: Server, key: Buffer): Promise<string[]> {
  const texts: string[] = [];
  for (const group of itemsOf(await server.call('xinfo', 'groups', key))) {
    const name = itemsOf(group)[1] as Extract<Reply, { kind: 'bulk' }>;
    for (const pending of itemsOf(
      await server.call('xpending', key, name.bytes, '-', '+', '100000'),
    )) {
      const [id, consumer, , deliveries] = itemsOf(pending);
      texts.push([id, consumer, deliveries].map((one) => replyText(one!)).join());
    }
    for (const consumer of itemsOf(await server.call('xinfo', 'consumers', key, name.bytes))) {
      const [, who, , pending] = itemsOf(consumer);
      texts.push([who, pending].map((one) => replyText(one!)).join());
    }
  }
  return texts;
}

async function loaded(partition: LonePartition, use: (redis: RealRedis) => Promise<void>) {
  const directory = mkdtempSync(join(tmpdir(), 'kvorum-backup-'));
  const file = fileOf(await pagesOf(partition.engine, partition.nowMs));
  writeFileSync(join(directory, 'dump.rdb'), file);
  const bounds = ['--maxmemory', '1gb', '--proto-max-bulk-len', '16777216'];
  const redis = await RealRedis.start('--dir', directory, '--appendonly', 'no', ...bounds);
  try {
    // while it loads it answers nothing else
    while ((await redis.call('ping')).kind === 'error') await pause(20);
    await use(redis);
  } finally {
    await redis.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function isAlike(partition: LonePartition, redis: RealRedis): Promise<number> {
  const keys = itemsOf(await partition.call('keys', '*'));
  expect(replyText(await redis.call('dbsize'))).toBe(`(integer) ${keys.length}`);
  for (const one of keys) {
    const { bytes: key } = one as Extract<Reply, { kind: 'bulk' }>;
    expect(await contentOf(redis, key), key.toString()).toBe(await contentOf(partition, key));
  }
  return keys.length;
}

test.skipIf(!hasRedis)(
  'drawn data',
  async () => {
    let keys = 0;
    for (let seed = 0; seed < scale.backupSeeds; seed++) {
      const partition = await LonePartition.open();
      partition.nowMs = Date.now() + YEAR_MS;
      const draw = new Draw(seededRandom(`backup ${seed}`), () => partition.nowMs);
      for (let at = 0; at < 800; at++) await partition.call(...drawn(draw));
      partition.nowMs += 100;
      await loaded(partition, async (redis) => {
        keys += await isAlike(partition, redis);
      });
    }
    expect(keys).toBeGreaterThan(40 * scale.backupSeeds);
  },
  3_600_000,
);

test.skipIf(!hasRedis)(
  'large collections, and what every type has in its extremes',
  async () => {
    const partition = await LonePartition.open();
    partition.nowMs = Date.now() + YEAR_MS;
    const many = Array.from({ length: scale.backupElements }, (_, at) =>
      `${at}`.padStart(at % 90, 'e'),
    );
    await partition.call('rpush', 'list', ...many);
    await partition.call('sadd', 'set', ...many);
    await partition.call('hset', 'hash', ...many.flatMap((one) => [one, `v${one}`]));
    await partition.call('zadd', 'zset', ...many.flatMap((one, at) => [`${at * 1.1 - 500}`, one]));
    await partition.call(
      'zadd',
      'odd',
      '-inf',
      'a',
      'inf',
      'b',
      '-0',
      'c',
      '1e-320',
      'd',
      '1.7e308',
      'e',
    );
    await partition.call('pfadd', 'dense', ...many);
    await partition.call('pfadd', 'sparse', 'a', 'b');
    await partition.call('set', 'huge', Buffer.alloc(3_000_000, 'h'));
    await partition.call('set', 'number', '-9223372036854775808');
    await partition.call('set', Buffer.from([0, 255, 13, 10]), Buffer.from([0, 255]));
    await partition.call('set', '', 'of an empty name');
    await partition.call('set', 'soon', 'v', 'PX', '86400000');
    for (const [at, one] of many.entries()) {
      const more = at % 7 === 0 ? ['other', '7'] : [];
      await partition.call('xadd', 'stream', `${at + 1}-${at % 3}`, 'field', one, ...more);
    }
    await partition.call('xdel', 'stream', '2-1', '3-2');
    await partition.call('xgroup', 'create', 'stream', 'g', '0');
    await partition.call('xgroup', 'create', 'stream', 'idle', '$');
    for (const consumer of ['a', 'b']) {
      await partition.call(
        'xreadgroup',
        'group',
        'g',
        consumer,
        'count',
        '300',
        'streams',
        'stream',
        '>',
      );
    }
    await partition.call('xack', 'stream', 'g', '4-0', '5-1');
    await partition.call('xgroup', 'create', 'none', 'g', '$', 'mkstream');
    await loaded(partition, async (redis) => {
      expect(await isAlike(partition, redis)).toBe(14);
      expect(replyText(await redis.call('pfcount', 'dense'))).toBe(
        replyText(await partition.call('pfcount', 'dense')),
      );
    });
  },
  3_600_000,
);
