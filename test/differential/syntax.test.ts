/**
 * Every command of data that redis-server knows, in the whole of the syntax it documents, on keys
 * of every type.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Command } from '../../src/datanode/commands/rows/command.ts';
import { commandTable } from '../../src/datanode/commands/table/table.ts';
import { hasRedis } from '../datanode/commands/real-redis.ts';
import { differential, exact, type Step } from './differential.ts';
import type { Order } from './order.ts';
import { linesOf, readSyntax, type Syntax, type Vocabulary } from './syntax.ts';
import { doubleWord, integerWord, words } from './words.ts';

/** Where they are compared instead, or why not at all. */
const elsewhere: Readonly<Record<string, string>> = {
  dump: 'dump.test.ts: the bytes are our own',
  restore: 'dump.test.ts: it wants payloads',
  'restore-asking': 'RESTORE by another name',
  pfadd: 'hyperloglog.test.ts: counting a sketch changes it in Redis',
  pfcount: 'hyperloglog.test.ts',
  pfmerge: 'hyperloglog.test.ts',
  pfdebug: 'hyperloglog.test.ts',
  pfselftest: 'hyperloglog.test.ts',
  spop: 'set.test.ts: what it takes is random',
  'object|encoding': 'object.test.ts: encodings are those of 7.2',
  'object|freq': 'object.test.ts',
  'object|idletime': 'object.test.ts',
  'object|refcount': 'object.test.ts',
  'object|help': 'object.test.ts',
  'memory|usage': 'object.test.ts: bytes of the engine',
  'cluster|countkeysinslot': 'commands/cluster/cluster-keys.txt: it takes a cluster in Redis',
  'cluster|getkeysinslot': 'commands/cluster/cluster-keys.txt',
  xack: 'what is pending tells of the time',
  xautoclaim: 'what is pending tells of the time',
  xclaim: 'what is pending tells of the time',
  xpending: 'what is pending tells of the time',
  'xinfo|consumers': 'what is pending tells of the time',
  'xinfo|stream': 'stream.test.ts: nodes of trees that we have not',
  exec: 'transaction.test.ts',
  watch: 'transaction.test.ts',
  eval: 'lua.test.ts: what scripts come to; commands/scripts/*.txt',
  eval_ro: 'as EVAL',
  evalsha: 'as EVAL',
  evalsha_ro: 'as EVAL',
  fcall: 'functions.test.ts',
  fcall_ro: 'functions.test.ts',
  'function|delete': 'functions.test.ts',
  'function|dump': 'functions.test.ts',
  'function|flush': 'functions.test.ts',
  'function|list': 'functions.test.ts',
  'function|load': 'functions.test.ts',
  'function|restore': 'functions.test.ts',
  'function|stats': 'functions.test.ts',
  'script|debug': 'commands/scripts/*.txt',
  'script|exists': 'commands/scripts/*.txt',
  'script|flush': 'commands/scripts/*.txt',
  'script|help': 'commands/scripts/*.txt',
  'script|kill': 'commands/scripts/*.txt',
  'script|load': 'commands/scripts/*.txt',
};

const documented = hasRedis ? await readSyntax() : [];
const rows = new Map<string, Command>(
  [...commandTable.values()]
    .flatMap((command) => [command, ...(command.subcommands ?? [])])
    .filter(({ kind, subcommands }) => kind !== 'node' && subcommands === undefined)
    .map((command) => [command.name, command]),
);
const compared = documented.filter(({ name }) => {
  const row = rows.get(name);
  return row !== undefined && !row.flags.includes('blocking') && !(name in elsewhere);
});

test.skipIf(!hasRedis)('every command of data is compared here or elsewhere', () => {
  expect(compared.length).toBeGreaterThan(120);
  const names = new Set(documented.map(({ name }) => name));
  const stale = Object.keys(elsewhere).filter((name) => rows.has(name) && !names.has(name));
  expect(stale).toEqual([]);
});

const typed = ['string', 'list', 'hash', 'set', 'zset', 'geo', 'stream'] as const;
const typeOfGroup: Readonly<Record<string, (typeof typed)[number]>> = {
  string: 'string',
  bitmap: 'string',
  list: 'list',
  hash: 'hash',
  set: 'set',
  'sorted-set': 'zset',
  geo: 'geo',
  stream: 'stream',
};
const anyKey = fc.constantFrom(
  ...typed.flatMap((type) => [`${type}1`, `${type}2`]),
  'mixed',
  'none',
  '',
  '\u0000\u00ff\r\n',
);
function keyFor(group: string): fc.Arbitrary<string> {
  const type = typeOfGroup[group];
  if (type === undefined) return anyKey;
  const own = fc.constantFrom(`${type}1`, `${type}2`, `${type}1`, 'mixed');
  return fc.oneof({ weight: 6, arbitrary: own }, { weight: 1, arbitrary: anyKey });
}

const small = fc.constantFrom('a', 'b', 'c', 'd', '1', '2', '3', '-7', '', 'héllo');
const glob = fc.constantFrom(
  '*',
  'a*',
  '[a-c]',
  '?',
  '',
  '[^a]',
  '\\a',
  '*1',
  '[',
  'z[1-',
  'w_*->f',
);
/** None that ends while the commands run. */
const span = fc.constantFrom(
  '1000',
  '100000',
  '0',
  '-1',
  '',
  'x',
  '1.5',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775808',
);
const moments = ['1', '4102444800', '4102444800000', '0', '-1', 'x', '', '-9223372036854775808'];
const secondsMoment = fc.constantFrom(...moments, '9223372036854775807');
/** None beyond the last deadline there is (exceptions.ts). */
const moment = fc.constantFrom(...moments, '9007199254740991');
const place = fc.oneof(
  fc.integer({ min: 0, max: 70 }).map(String),
  fc.constantFrom('-1', 'x', '4294967296', '9223372036854775807'),
);
/** A number out of range would be remembered by SORT (exceptions.ts). */
const inRange = doubleWord.filter((text) => text !== '1e400');
const score = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('0', '1', '1', '2.5', '-2', 'inf', '-inf', '0.1', '1e21'),
  },
  inRange,
);

/** By the name of the argument, else by its type. */
const byName: Readonly<Record<string, fc.Arbitrary<string>>> = {
  seconds: span,
  milliseconds: span,
  'unix-time-seconds': secondsMoment,
  cursor: fc.constantFrom('0', '0', '0', '0', 'x', '', '00'),
  bit: fc.constantFrom('0', '1', '0', '1', '2', 'x'),
  encoding: fc.constantFrom('u8', 'i5', 'u63', 'i64', 'u1', 'u64', 'x', 'i8', 'u4'),
  longitude: fc.constantFrom('12.3', '12.35', '13', '-180', '180', '0', '181', 'x'),
  latitude: fc.constantFrom('12.3', '12.35', '13', '-85', '85.05112878', '0', '86', 'x'),
  radius: fc.constantFrom('100', '5000', '1', '0', '-1', 'x', '1e9', 'inf'),
  width: fc.constantFrom('100', '5000', '1', '0', '-1', 'x'),
  height: fc.constantFrom('100', '5000', '1', '0', '-1', 'x'),
  'destination-db': fc.constantFrom('0', '0', 'x', '', '-1', '99999'),
  type: fc.constantFrom('string', 'list', 'hash', 'set', 'zset', 'LIST', 'nonsense', ''),
  score,
  increment: fc.oneof(inRange, integerWord),
  weight: score,
};
const range = fc.oneof(
  integerWord,
  fc
    .tuple(fc.constantFrom('', '(', '[', '-', '+'), fc.oneof(small, score))
    .map((both) => both.join('')),
);
const byType: Readonly<Record<string, fc.Arbitrary<string>>> = {
  integer: integerWord,
  double: inRange,
  pattern: glob,
  'unix-time': moment,
  string: small,
};

/** IDs of streams, and of all that stands for one; a threshold is a size as well. */
const id = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(fc.nat(3), fc.nat(4)).map(([ms, sequence]) => `${ms}-${sequence}`),
  },
  { weight: 2, arbitrary: fc.tuple(fc.nat(4), fc.constantFrom('', '-*')).map((it) => it.join('')) },
  fc.constantFrom('-', '+', '(1-1', '(2', '$', '>', '', 'x', '18446744073709551615-1'),
);
const isId = /^(?:id|start|end|last-id|threshold|max-deleted-id|id-or-dollar)$/;

const vocabulary: Vocabulary = ({ name, type }, command) => {
  if (type === 'key') return keyFor(command.group);
  if (command.group === 'stream' && isId.test(name)) return id;
  if (name === 'offset' && /^(?:bitfield|setbit|setrange)/.test(command.name)) return place;
  if (name === 'value' && command.name === 'setbit') return byName['bit']!;
  if (/^(?:min|max|start|stop)$/.test(name)) return type === 'integer' ? integerWord : range;
  return byName[name] ?? byType[type] ?? small;
};

/** Commands whose replies are in the order of a hash table. */
const unordered = /^(?:smembers|sinter|sunion|sdiff|hkeys|hvals|keys)$/;
const random = /^(?:srandmember|hrandfield|zrandmember|randomkey)$/;
const remaining = /^(?:pttl|expiretime|pexpiretime)$/;

function orderOf(line: readonly string[]): Order {
  const [name = '', ...rest] = line.map((word) => word.toLowerCase());
  if (name === 'zscan') return 'scanScores';
  if (/^h?scan$|^sscan$/.test(name)) return name === 'hscan' ? 'scanPairs' : 'scan';
  if (random.test(name) || rest.includes('any')) return 'count';
  if (remaining.test(name)) return 'sign';
  if (name === 'ttl') return 'seconds';
  // its lag is as Redis 7.4 counts: exceptions.ts
  if (name === 'xinfo' && rest[0] === 'groups') return 'moments';
  if (unordered.test(name)) return 'set';
  if (name === 'hgetall') return 'pairs';
  if (name.startsWith('geo') && !rest.some((word) => /^(?:asc|desc|count)$/.test(word)))
    return 'set';
  return /^(?:z|geo)/.test(name) ? 'scores' : 'exact';
}

const wholeNumber = /^(?:0|-?[1-9]\d{0,17})$/;

/** BITCOUNT and BITPOS look at their arguments before the key, as 7.2 does. */
function isWellFormedBits(name: string, rest: readonly string[]): boolean {
  const [places, unit] = name === 'bitcount' ? [rest.slice(1), 3] : [rest.slice(2), 4];
  if (name === 'bitcount' && places.length === 1) return false;
  if (rest.length > unit && !/^(?:byte|bit)$/.test(rest[unit]!)) return false;
  return rest.length <= unit + 1 && places.slice(0, 2).every((word) => wholeNumber.test(word));
}

/** What Redis leaves open, answers from its own memory, or `exceptions.ts` names. */
function isOpen(line: readonly string[]): boolean {
  const [name = '', ...rest] = line.map((word) => word.toLowerCase());
  if (name === 'bitcount' || name === 'bitpos') return !isWellFormedBits(name, rest);
  if (name === 'zrank' || name === 'zrevrank') return rest.length !== 2;
  if (/^[hsz]scan$/.test(name)) return /^[1-9]/.test(rest[1] ?? '');
  if (name === 'scan') return /^[1-9]/.test(rest[0] ?? '');
  if (random.test(name)) return rest.some((word) => /^-\d{3}/.test(word));
  if (name === 'lpos') return rest.includes('-9223372036854775808');
  if (name.startsWith('geo')) {
    const stores = name.endsWith('store') || rest.some((word) => word.startsWith('store'));
    return stores && rest.includes('any');
  }
  // IDs by the time, and a number that is cut (exceptions.ts)
  if (name === 'xadd') return rest.includes('*');
  const isCut = rest.some((word) => /^\d{17,}$/.test(word));
  if (name === 'xsetid') return isCut;
  if (/^x(?:group|info)$/.test(name)) return isCut || !rows.has(`${name}|${rest[0]}`);
  // ties, and the order of sets, are each server's own: sort.test.ts
  return name.startsWith('sort') && (rest.includes('by') || rest.includes('alpha'));
}

/** A scan in one step: where it stops in between is each server's own. */
function whole(line: string[]): string[] {
  const scans = /^[hsz]?scan$/i.test(line[0]!);
  const ended = line.map((word) =>
    scans && /^(?:\d|1\d|-\d|-1\d)$/.test(word) && word !== '0' ? '1000' : word,
  );
  return scans && !line.some((word) => /^count$/i.test(word)) ? [...ended, 'COUNT', '1000'] : ended;
}

const stepsOf = (syntax: Syntax): fc.Arbitrary<Step> =>
  linesOf(syntax, vocabulary)
    .map(whole)
    .filter((line) => !isOpen(line))
    .map((line) => ({ words: line.map((word) => Buffer.from(word)), order: orderOf(line) }));

const mixed = fc.constantFrom('mixed', ...typed.map((type) => `${type}2`));
const fillers = exact(
  fc.oneof(
    words('SET', mixed, small),
    words('RPUSH', mixed, small, small),
    words('SADD', mixed, small, small),
    words('HSET', mixed, small, small),
    words('ZADD', mixed, score, small),
    words(
      'XADD',
      mixed,
      fc.nat(4).map((ms) => `${ms}-*`),
      small,
      small,
    ),
    words('DEL', mixed),
  ),
);
const generic = compared.filter(({ group }) => group === 'generic');

for (const group of new Set(compared.map((syntax) => syntax.group))) {
  const own = compared.filter((syntax) => syntax.group === group);
  differential(
    `the whole syntax of ${group}`,
    fc.oneof(
      { weight: 9, arbitrary: fc.oneof(...own.map(stepsOf)) },
      { weight: 2, arbitrary: fc.oneof(...generic.map(stepsOf)) },
      { weight: 3, arbitrary: fillers },
    ),
  );
}
