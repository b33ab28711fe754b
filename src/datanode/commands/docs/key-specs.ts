/**
 * Where a command's keys stand and what becomes of them, as COMMAND INFO tells (redis.io, "Command
 * key specifications"). A line is `begin search · find keys · flags`: `index i` or `keyword WORD from`;
 * `range last step limit` or `keynum index first step`.
 */

import { type Command, carriedOut } from '../rows/command.ts';
import { isComparison } from '../rows/comparison-words.ts';

export interface KeySpec {
  readonly begin:
    | { readonly type: 'index'; readonly index: number }
    | { readonly type: 'keyword'; readonly keyword: string; readonly from: number }
    | { readonly type: 'unknown' };
  readonly find:
    | {
        readonly type: 'range';
        readonly last: number;
        readonly step: number;
        readonly limit: number;
      }
    | {
        readonly type: 'keynum';
        readonly at: number;
        readonly first: number;
        readonly step: number;
      }
    | { readonly type: 'unknown' };
  readonly flags: readonly string[];
}

/** A key of a request and what the command does with it. */
export interface KeyUse {
  readonly key: Buffer;
  readonly flags: readonly string[];
}

const lines: readonly { readonly specs: readonly string[]; readonly of: string }[] = [
  {
    specs: ['index 1 · range 0 1 0 · RO access'],
    of:
      'bitcount bitfield_ro bitpos digest dump expiretime geodist geohash geopos georadius_ro ' +
      'georadiusbymember_ro geosearch get getbit getrange hexpiretime hget hgetall ' +
      'hkeys hmget hpexpiretime hpttl hrandfield hscan httl hvals lindex lpos lrange ' +
      'pexpiretime pttl smembers smismember srandmember sscan substr ttl zcount ' +
      'zlexcount zmscore zrandmember zrange zrangebylex zrangebyscore zrank zrevrange ' +
      'zrevrangebylex zrevrangebyscore zrevrank zscan zscore',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW update'],
    of:
      'expire expireat geoadd hexpire hexpireat hmset hpersist hpexpire hpexpireat hset hsetex ' +
      'lset persist pexpire pexpireat setrange zadd',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW access update'],
    of:
      'decr decrby getex getset hgetex hincrby hincrbyfloat incr incrby incrbyfloat move ' +
      'setbit setifeq zincrby',
  },
  {
    specs: ['index 1 · range 0 1 0 · RO'],
    of: 'hexists hlen hstrlen llen scard sismember strlen type zcard',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW insert'],
    of: 'append hsetnx linsert lpush lpushx pfadd rpush rpushx sadd',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW delete'],
    of: 'hdel lrem ltrim srem zrem zremrangebylex zremrangebyrank zremrangebyscore',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW access delete'],
    of: 'delifeq getdel hgetdel lpop rpop spop zpopmax zpopmin',
  },
  {
    specs: ['index 2 · range 0 1 0 · RO'],
    of:
      'debug|object memory|usage object|encoding object|freq object|idletime ' + 'object|refcount',
  },
  {
    specs: ['index 1 · keynum 0 1 1 · RO access'],
    of: 'sintercard zdiff zinter zintercard zunion',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW access delete', 'index 2 · range 0 1 0 · RW insert'],
    of: 'blmove brpoplpush lmove rpoplpush smove',
  },
  {
    specs: ['index 1 · range -1 1 0 · RO access'],
    of: 'mget sdiff sinter sunion',
  },
  {
    specs: ['index 1 · range -2 1 0 · RW access delete'],
    of: 'blpop brpop bzpopmax bzpopmin',
  },
  {
    specs: ['index 1 · range -1 1 0 · RO'],
    of: 'exists touch watch',
  },
  {
    specs: ['index 1 · range 0 1 0 · OW update'],
    of: 'psetex restore restore-asking setex zan.set',
  },
  {
    specs: ['index 1 · range 0 1 0 · OW update', 'index 2 · keynum 0 1 1 · RO access'],
    of: 'zdiffstore zinterstore zunionstore',
  },
  {
    specs: ['index 1 · keynum 0 1 1 · RW access delete'],
    of: 'lmpop zmpop',
  },
  {
    specs: ['index 1 · range -1 1 0 · RM delete'],
    of: 'del unlink',
  },
  {
    specs: ['index 1 · range -1 1 0 · not_key'],
    of: 'ssubscribe sunsubscribe',
  },
  {
    specs: ['index 1 · range 0 1 0 · OW update', 'index 2 · range -1 1 0 · RO access'],
    of: 'sdiffstore sunionstore',
  },
  {
    specs: ['index 1 · range 0 1 0 · OW update', 'index 2 · range 0 1 0 · RO access'],
    of: 'geosearchstore zrangestore',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW access update variable_flags'],
    of: 'bitfield set',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW delete variable_flags'],
    of: 'delex',
  },
  {
    specs: ['index 2 · keynum 0 1 1 · RW access delete'],
    of: 'blmpop bzmpop',
  },
  {
    specs: ['index 1 · range -1 1 0 · RW access'],
    of: 'pfcount',
  },
  {
    specs: ['index 2 · range -1 1 0 · RO'],
    of: 'zan.exists',
  },
  {
    specs: ['index 2 · range -1 1 0 · RM delete'],
    of: 'zan.clear',
  },
  {
    specs: ['index 2 · range 0 1 0 · RO access'],
    of: 'zan.ttl zan.elements',
  },
  {
    specs: ['index 2 · range 0 1 0 · RW update'],
    of: 'zan.expire zan.persist',
  },
  {
    specs: ['index 1 · range -1 2 0 · OW insert'],
    of: 'msetnx',
  },
  {
    specs: ['index 1 · range -1 2 0 · OW update'],
    of: 'mset plset',
  },
  {
    specs: ['index 1 · range 0 1 0 · OW insert'],
    of: 'setnx',
  },
  {
    specs: ['index 1 · range 0 1 0 · RO access', 'index 2 · range 0 1 0 · OW update'],
    of: 'copy',
  },
  {
    specs: [
      'index 1 · range 0 1 0 · RO access',
      'keyword STORE 5 · range 0 1 0 · OW update',
      'keyword STOREDIST 5 · range 0 1 0 · OW update',
    ],
    of: 'georadiusbymember',
  },
  {
    specs: [
      'index 1 · range 0 1 0 · RO access',
      'keyword STORE 6 · range 0 1 0 · OW update',
      'keyword STOREDIST 6 · range 0 1 0 · OW update',
    ],
    of: 'georadius',
  },
  {
    specs: ['index 1 · range 0 1 0 · RO access', 'unknown · unknown · RO access'],
    of: 'sort_ro',
  },
  {
    specs: [
      'index 1 · range 0 1 0 · RO access',
      'unknown · unknown · RO access',
      'unknown · unknown · OW update',
    ],
    of: 'sort',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW access delete', 'index 2 · range 0 1 0 · OW insert'],
    of: 'renamenx',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW access delete', 'index 2 · range 0 1 0 · OW update'],
    of: 'rename',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW access insert', 'index 2 · range -1 1 0 · RO access'],
    of: 'pfmerge',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW update', 'index 2 · range -1 1 0 · RO access'],
    of: 'sinterstore',
  },
  {
    specs: ['index 1 · range 0 1 0 · not_key'],
    of: 'spublish',
  },
  {
    specs: ['index 3 · range 0 1 0 · not_key'],
    of: 'kv.session|open kv.session|close',
  },
  {
    specs: ['unknown · unknown · RW access update'],
    of: 'kv.once',
  },
  {
    specs: ['index 1 · range 1 1 0 · RO access'],
    of: 'lcs',
  },
  {
    specs: ['index 2 · range 0 1 0 · OW update', 'index 3 · range -1 1 0 · RO access'],
    of: 'bitop',
  },
];

const specsByName: ReadonlyMap<string, readonly KeySpec[]> = new Map(
  lines.flatMap(({ specs, of }) => {
    const parsed = specs.map(parseSpec);
    return of.split(' ').map((name) => [name, parsed] as const);
  }),
);

function parseSpec(line: string): KeySpec {
  const [begin = '', find = '', flags = ''] = line.split(' · ');
  return { begin: parseBegin(begin), find: parseFind(find), flags: flags.split(' ') };
}

function parseBegin(text: string): KeySpec['begin'] {
  const [type, first = '', from] = text.split(' ');
  if (type === 'index') return { type, index: Number(first) };
  if (type === 'keyword') return { type, keyword: first, from: Number(from) };
  return { type: 'unknown' };
}

function parseFind(text: string): KeySpec['find'] {
  const [type, a, b, c] = text.split(' ');
  if (type === 'range') return { type, last: Number(a), step: Number(b), limit: Number(c) };
  if (type === 'keynum') return { type, at: Number(a), first: Number(b), step: Number(c) };
  return { type: 'unknown' };
}

/** Of a command that is not in the table: from its positions and whether it writes. */
function derivedSpecs({ keys, flags }: Command): readonly KeySpec[] {
  if (keys.first === 0) return [];
  const { first, last, step } = keys;
  return [
    {
      begin: { type: 'index', index: first },
      find: { type: 'range', last: last < 0 ? last : last - first, step, limit: 0 },
      flags: flags.includes('write') ? ['RW', 'access', 'update'] : ['RO', 'access'],
    },
  ];
}

export function keySpecsOf(command: Command): readonly KeySpec[] {
  return specsByName.get(command.name) ?? derivedSpecs(command);
}

/**
 * The keys of a request with what is done to each; `found` are the keys that the row itself knows:
 * where a specification is too general to find them, and for those that it misses.
 */
export function keyUses(
  row: Command,
  request: readonly Buffer[],
  found: readonly Buffer[],
): readonly KeyUse[] {
  const { command, line: args } = carriedOut(row, request);
  const specs = keySpecsOf(command).filter(({ flags }) => !flags.includes('not_key'));
  const vague = specs.some(
    ({ begin, find, flags }) =>
      begin.type === 'unknown' || find.type === 'unknown' || flags.includes('incomplete'),
  );
  if (specs.some(({ begin, find }) => countsWrong(begin, find, args))) return [];
  const uses = vague ? [] : specs.flatMap((spec) => usesOf(command, spec, args));
  if (uses.length > 0) return [...uses, ...missedBy(uses, found)];
  // what stands behind the first key is what the last specifications are about (SORT's STORE)
  return found.map((key, at) => ({
    key,
    flags: (at === 0 ? specs[0] : specs[specs.length - found.length + at])?.flags ?? UNKNOWN_USE,
  }));
}

const UNKNOWN_USE: readonly string[] = ['RW', 'access', 'update'];

/**
 * What the command takes for a key and no specification does: of several STOREs those see the first,
 * GEORADIUS the last. Counted, because one place of a key says nothing of what another is used for.
 */
function missedBy(uses: readonly KeyUse[], found: readonly Buffer[]): KeyUse[] {
  // as nearly always: the very same arguments
  if (found.every((key, at) => key === uses[at]?.key)) return [];
  const known = new Map<string, number>();
  for (const { key } of uses) {
    const name = key.toString('latin1');
    known.set(name, (known.get(name) ?? 0) + 1);
  }
  return found.flatMap((key) => {
    const name = key.toString('latin1');
    const left = known.get(name) ?? 0;
    known.set(name, left - 1);
    return left > 0 ? [] : [{ key, flags: UNKNOWN_USE }];
  });
}

/** The request says that it has no keys, or more than it has arguments. */
function countsWrong(
  begin: KeySpec['begin'],
  find: KeySpec['find'],
  args: readonly Buffer[],
): boolean {
  if (find.type !== 'keynum' || begin.type !== 'index') return false;
  const count = Number(args[begin.index + find.at]?.toString('latin1'));
  return !(count >= 1) || begin.index + find.first + (count - 1) * find.step >= args.length;
}

function usesOf(command: Command, spec: KeySpec, args: readonly Buffer[]): KeyUse[] {
  const first = firstKeyAt(spec.begin, args);
  if (first === undefined) return [];
  const flags = flagsHere(command, spec, args);
  return keyPlaces(spec.find, first, args).map((at) => ({ key: args[at]!, flags }));
}

function firstKeyAt(begin: KeySpec['begin'], args: readonly Buffer[]): number | undefined {
  if (begin.type === 'index') return begin.index;
  if (begin.type === 'unknown') return undefined;
  const step = begin.from < 0 ? -1 : 1;
  const start = begin.from < 0 ? args.length + begin.from : begin.from;
  for (let at = start; at > 0 && at < args.length; at += step) {
    if (args[at]!.toString('latin1').toUpperCase() === begin.keyword) return at + 1;
  }
  return undefined;
}

function keyPlaces(find: KeySpec['find'], begin: number, args: readonly Buffer[]): number[] {
  const places: number[] = [];
  if (find.type === 'range') {
    const last = find.last < 0 ? args.length + find.last : begin + find.last;
    for (let at = begin; at <= last && at < args.length; at += find.step) places.push(at);
  } else if (find.type === 'keynum') {
    const count = Number(args[begin + find.at]?.toString('latin1'));
    for (let key = 0; key < count; key++) {
      const at = begin + find.first + key * find.step;
      if (at >= args.length) break;
      places.push(at);
    }
  }
  return places;
}

/** Some commands read, or write, only with certain words. */
function flagsHere(
  { name }: Command,
  { flags }: KeySpec,
  args: readonly Buffer[],
): readonly string[] {
  if (!flags.includes('variable_flags')) return flags;
  // SET's options begin behind its value, which may be any word; BITFIELD's behind the key
  const words = args
    .slice(name === 'set' ? 3 : 2)
    .map((arg) => arg.toString('latin1').toLowerCase());
  // who compares learns of the value
  if (name === 'delex') return args.length > 2 ? ['RW', 'access', 'delete'] : ['RW', 'delete'];
  if (name === 'set' && !words.includes('get') && !words.some(isComparison)) {
    return ['OW', 'update'];
  }
  if (name === 'bitfield' && !words.includes('set') && !words.includes('incrby')) {
    return ['RO', 'access'];
  }
  return flags.filter((flag) => flag !== 'variable_flags');
}
