/** COMMAND's subcommands, to the doors of a node and to a stock redis-server. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decodeReply } from '../../src/datanode/resp/decode-reply.ts';
import type { Reply } from '../../src/datanode/resp/reply.ts';
import { hasRedis } from '../datanode/commands/real-redis.ts';
import { openDoors } from '../datanode/server/doors.ts';
import { besideRedis, Pair } from './beside-redis.ts';

/** As many arguments as GETKEYS takes in 7.0; DEBUG OBJECT has a key specification only here. */
const keyLines = [
  ...[
    'SET a 1',
    'SET a 1 GET',
    'GET a',

    'MSET a 1 b 2',
    'MSETNX a 1 b 2',
    'NOSUCH a',
  ],
  ...['RENAME a b', 'COPY a b', 'SORT a', 'SORT a BY w_* STORE c', 'SORT a GET # STORE b STORE c'],
  ...['ZUNIONSTORE c 2 a b', 'ZUNION 2 a b', 'ZUNION 9 a b', 'ZINTERCARD 1 a', 'SINTERCARD 2 a b'],
  ...['ZUNIONSTORE d x a b', 'ZUNIONSTORE d 0 a b', 'ZINTERSTORE d -1 a b', 'ZDIFFSTORE d 3 a b'],
  ...['ZUNIONSTORE d 0', 'ZUNION x a', 'SINTERCARD 0 a', 'BLMPOP 0 x a LEFT', 'ZMPOP 0 a MIN'],
  ...['OBJECT NOSUCH a', 'CONFIG NOSUCH', 'MEMORY NOSUCH a', 'OBJECT|NOSUCH a', 'CLIENT ID'],
  ...['LMPOP 2 a b LEFT', 'ZMPOP 1 a MIN', 'LMOVE a b LEFT LEFT', 'SMOVE a b m', 'BITOP AND c a b'],
  ...['BITFIELD a GET u8 0', 'BITFIELD a SET u8 0 1', 'PFMERGE c a b', 'PFCOUNT a b', 'LCS a b'],
  ...[
    'GEOSEARCHSTORE c a FROMLONLAT 1 1 BYRADIUS 1 m',
    'ZRANGESTORE c a 0 1',
    'DEL a b',
    'TOUCH a',
  ],
  ...[
    'GEORADIUS a 1 1 1 m STORE b',
    'GEORADIUS a 1 1 1 m',
    'GEORADIUSBYMEMBER a m 1 m STOREDIST b',
  ],
  ...['OBJECT ENCODING a', 'OBJECT HELP', 'MEMORY USAGE a', 'CONFIG GET a'],
  ...['XADD a * f v', 'XRANGE a - +', 'XACK a g 1', 'XGROUP CREATE a g $', 'XINFO GROUPS a'],
  ...['XREAD STREAMS a 0', 'XREAD COUNT 1 BLOCK 0 STREAMS a b c 0 0 $', 'XREAD streams streams 0'],
  ...['XREADGROUP GROUP g c NOACK STREAMS a b > >', 'XREADGROUP GROUP g c COUNT 2 STREAMS a 0'],
  ...['XREADGROUP GROUP g c STREAMS a', 'XREAD COUNT 1 STREAMS', 'XGROUP HELP'],
  ...['HSET a f v', 'HINCRBY a f 1', 'WATCH a b', 'SSUBSCRIBE a', 'PUBLISH a b', 'RESTORE a 0 x'],
  ...[
    'SDIFFSTORE c a b',
    'SINTERSTORE c a b',
    'EXPIRE a 1',
    'TYPE a',
    'DUMP a',
    'GETEX a',
    'GETDEL a',
  ],
];

const lines = [
  ...keyLines.flatMap((line) => [`GETKEYS ${line}`, `GETKEYSANDFLAGS ${line}`]),
  'LIST FILTERBY MODULE none',
  'LIST FILTERBY NOSUCH x',
  'LIST FILTERBY ACLCAT',
  'LIST x',
  'INFO nosuch',
  'DOCS nosuch',
  'NOSUCH',
];

describe.skipIf(!hasRedis)('COMMAND as redis-server answers it', () => {
  const servers = besideRedis(openDoors);
  let pair: Pair;
  beforeAll(async () => {
    pair = await Pair.connect(servers, 2);
  });
  afterAll(() => pair?.close());
  const ask = (line: string) => pair.ask(`COMMAND ${line}`.split(' '));

  test.each(lines)('%s', async (line) => {
    const [ours, theirs] = await ask(line);
    expect(ours.toString()).toBe(theirs.toString());
  });

  test.each([
    'ACLCAT string',
    'ACLCAT hyperloglog',
    'ACLCAT transaction',
    'ACLCAT nosuch',
    'PATTERN z*store',
    'PATTERN CONFIG|*',
    'PATTERN h[gi]*',
  ])('LIST FILTERBY %s: those of the commands both have', async (filter) => {
    const known = (await ask('LIST FILTERBY PATTERN *')).map(namesOf);
    const shared = new Set(known[0]!.filter((name) => known[1]!.includes(name)));
    const [ours, theirs] = (await ask(`LIST FILTERBY ${filter}`)).map((reply) =>
      namesOf(reply).filter((name) => shared.has(name)),
    );
    expect(ours!.sort()).toEqual(theirs!.sort());
  });
});

function namesOf(bytes: Buffer): string[] {
  const reply: Reply = decodeReply(bytes);
  if (reply.kind !== 'array') throw new Error(bytes.toString());
  return reply.items.map((item) => (item.kind === 'bulk' ? item.bytes.toString() : item.kind));
}
