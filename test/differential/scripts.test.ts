/**
 * Scripts as real software has them, with random arguments, against a stock redis-server: what they
 * answer is the same, and so is what they leave behind.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { differential, exact, inOrder } from './differential.ts';
import { words } from './words.ts';

const folder = join(import.meta.dirname, 'lua-corpus');
const sources = new Map(
  readdirSync(folder).map((file) => [
    file.replace(/\.lua$/, ''),
    readFileSync(join(folder, file), 'latin1'),
  ]),
);

type Words = fc.Arbitrary<string>;
const used = new Set<string>();

/** EVAL of a script of the corpus, up to its arguments. */
function head(name: string, keys: readonly string[]): readonly string[] {
  used.add(name);
  const source = sources.get(name);
  if (source === undefined) throw new Error(`no script: ${name}`);
  return ['EVAL', source, String(keys.length), ...keys];
}

function run(name: string, keys: readonly (string | Words)[], ...args: readonly Words[]) {
  const line = head(
    name,
    keys.map(() => ''),
  );
  return exact(words(...line.slice(0, 3), ...keys, ...args));
}

/** With any number of pairs of arguments. */
function runPairs(name: string, keys: readonly string[], first: Words, second: Words) {
  const pairs = fc.array(fc.tuple(first, second), { maxLength: 4 });
  return exact(pairs.map((args) => [...head(name, keys), ...args.flat()]));
}

const read = (...line: string[]) => exact(words(...line));
const unordered = (...line: string[]) => inOrder('pairs')(words(...line));
const of = (...texts: readonly string[]): Words => fc.constantFrom(...texts);
const who = of('ann', 'bob', '7', '');
const small = fc.integer({ min: 0, max: 6 }).map(String);
const often = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });

differential(
  'scripts of locks',
  fc.oneof(
    often(3, exact(words('SET', of('lock', 'other'), who, of('NX', 'XX')))),
    often(3, run('unlock', [of('lock', 'other')], who)),
    often(3, run('extend-lock', [of('lock', 'other')], who, of('100000', '1e6', 'soon', '-1'))),
    often(4, run('reentrant-lock', ['re'], of('60000', 'x'), who)),
    often(4, run('reentrant-unlock', ['re'], who)),
    often(3, run('unique-token', ['unique', 'tokens'], who, of('100000', '0'))),
    exact(words('DEL', of('unique', 'tokens', 're', 'lock'))),
    unordered('HGETALL', 're'),
    read('GET', 'unique'),
  ),
  0.3,
);

differential(
  'scripts of limits',
  fc.oneof(
    often(3, run('fixed-window', ['window'], of('5', '3', 'x'), of('100'), of('1', '2', '1.5'))),
    often(3, run('fixed-window', ['window'], of('5'), of('100', 'x', '0'))),
    often(
      5,
      run(
        'sliding-log',
        ['log'],
        small.map((n) => `${n}000`),
        of('2000', '3000'),
        of('3'),
      ),
    ),
    often(5, run('token-bucket', ['bucket'], of('2', '0.5', '1e-3'), of('5', '2'), small, small)),
    often(1, run('clock-bucket', ['clock'])),
    often(2, run('bloom', ['bits'], who)),
    often(2, run('cache-get', [of('window', 'log', 'none', 'bucket'), 'stats'])),
    read('ZRANGE', 'log', '0', '-1', 'WITHSCORES'),
    unordered('HGETALL', 'bucket'),
    read('DEL', 'window'),
  ),
  0.3,
);

const jobId = of('a', 'b', 'c', 'd', '', '1');
const payload = of('{"n":1}', 'plain', 'é\n"', '');
differential(
  'scripts of queues',
  fc.oneof(
    often(
      6,
      run(
        'enqueue',
        ['wait', 'delayed', 'prio', 'meta'],
        jobId,
        payload,
        of('0', '0', '0', '2', '5', 'x'),
        of('0', '0', '1', '3'),
      ),
    ),
    often(3, run('move-due', ['delayed', 'wait'], of('0', '10000', '+inf', 'x'), of('1', '10'))),
    often(4, run('take-job', ['wait', 'active', 'meta'])),
    often(4, run('finish-job', ['active', 'failed', 'wait', 'meta'], jobId, of('ok', 'failed'))),
    read('LRANGE', 'wait', '0', '-1'),
    read('LRANGE', 'active', '0', '-1'),
    read('ZRANGE', 'failed', '0', '-1', 'WITHSCORES'),
    unordered('HGETALL', 'meta:a'),
  ),
  0.3,
);

const path = of('a', 'b', 'a.b', 'a.c', 'list.1', 'list.2', '1');
const json = of('1', '"x"', '[1,2]', '{"k":{}}', 'null', '[]', '2.5', 'true', '{', '1e3');
const score = fc.integer({ min: -8, max: 40 }).map((n) => String(n / 4));
differential(
  'scripts of documents and counts',
  fc.oneof(
    often(5, run('leaderboard', ['board'], of('ann', 'bob', 'cid', 'dan'), score)),
    often(5, runPairs('inventory', ['stock'], of('nut', 'bolt', 'nail'), of('1', '2', '0'))),
    often(4, runPairs('restock', ['stock'], of('nut', 'bolt'), of('1', '5', 'x'))),
    often(6, run('json-document', ['json'], path, of('set', 'incr', 'del'), json)),
    often(4, run('packed-session', ['packed'], of('1', '2.5', 'x', '1e20', '-7', ''))),
    often(4, run('struct-ring', ['ring'], of('1', '2.5', '-1e300', '0'))),
    often(3, runPairs('multi-key-sum', ['a', 'b', 'c', 'board'], of('a', 'b', 'c'), score)),
    often(3, runPairs('multi-key-sum', ['a', 'b', 'c'], of('a', 'b', 'c'), score)),
    read('ZRANGE', 'board', '0', '-1', 'WITHSCORES'),
    unordered('HGETALL', 'stock'),
    read('GET', 'ring'),
    read('GET', 'packed'),
  ),
  0.3,
);

const anything = of('k', 'l', 'h', 'z', '1', '-1', '2.5', 'x', '0', '');
const commands = of(
  ...['get', 'set', 'incr', 'incrby', 'lpush', 'rpop', 'llen', 'lrange', 'hset', 'hget', 'hmget'],
  ...[
    'hincrbyfloat',
    'zadd',
    'zscore',
    'zrange',
    'zincrby',
    'del',
    'exists',
    'type',
    'ttl',
    'expire',
  ],
  ...['mget', 'append', 'getrange', 'setex', 'ping', 'echo', 'blpop', 'subscribe', 'multi', 'exec'],
  ...[
    'object',
    'nosuch',
    'eval',
    'script',
    'client',
    'auth',
    'watch',
    'sort',
    'pfadd',
    'setbit',
    'bitfield',
  ],
);
differential(
  'any command in a script',
  fc.oneof(
    often(
      8,
      exact(
        fc
          .tuple(of('call', 'pcall'), commands, fc.array(anything, { maxLength: 4 }))
          .map(([how, command, args]) => [...head('everything', []), how, command, ...args]),
      ),
    ),
    read('LRANGE', 'l', '0', '-1'),
    read('GET', 'k'),
  ),
  0.3,
);

test('every script of the corpus is run', () => {
  expect([...sources.keys()].filter((name) => !used.has(name))).toEqual([]);
});
