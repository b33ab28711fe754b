/**
 * Commands whose longest hold of the event loop is measured: over collections of `count` elements,
 * values of 16 MiB, and with thousands of arguments. All keys are of one slot.
 */

import {
  encodeRdbLength,
  encodeRdbString,
  rdbTypeByte,
} from '../../src/datanode/encoding/rdb/rdb-elements.ts';
import { sealRdbPayload } from '../../src/datanode/encoding/rdb/rdb-payload.ts';
import { emptySketch, toDense } from '../../src/datanode/encoding/sketches/hyperloglog.ts';
import type { Line } from './forgetful-client.ts';

const MIB = 1_048_576;
/** Arguments of one command that carries its elements. */
const ARGUMENTS_MAX = 20_000;
/** Sketches of one command, 12 KiB each. */
const SKETCHES_MAX = 1_000;
/** Elements that one command of the filling carries. */
const FILLED_AT_ONCE = 2_000;
/** Elements of a document: four values each. */
const DOCUMENT_MAX = 60_000;
/** Elements, where only the commands' names are asked about. */
const FEW = 10;

/** A command, or a transaction, and what is to be done before it each time. */
export interface Held {
  readonly before: readonly Line[];
  readonly lines: readonly Line[];
}

/** Reads and writes of collections, commands that carry their elements, and values of megabytes. */
export type Group = 'reads' | 'writes' | 'carrying' | 'values';

const k = (name: string) => `{t}${name}`;

const alone = (line: Line): Held => ({ before: [], lines: [line] });
/** `line` finds a copy of collection `name` under `x`. */
const onCopy = (name: string, line: Line): Held => ({
  before: [['COPY', k(name), k('x'), 'REPLACE']],
  lines: [line],
});
const onNothing = (line: Line): Held => ({ before: [['DEL', k('x')]], lines: [line] });
const exec = (lines: readonly Line[]): Held => ({
  before: [['DEL', k('x')]],
  lines: [['MULTI'], ...lines, ['EXEC']],
});

/** What `helds` find: collections of `count` elements and strings; all of them by default. */
export function* filling(count: number, helds?: readonly Held[]): Generator<Line, void, unknown> {
  const named = helds?.flatMap(({ before, lines }) => [...before, ...lines].flat());
  const isNamed = (line: Line) => named === undefined || named.includes(line[1]!);
  for (const { line, words } of collectionsOf(count)) {
    if (isNamed(line)) yield* filled(count, line, words);
  }
  const strings: readonly Line[] = [
    ...['big', 'big2'].map((name) => ['SET', k(name), Buffer.alloc(16 * MIB - 64, name)]),
    ['SET', k('ones'), Buffer.alloc(15 * MIB, 0xff)],
    ['SET', k('text1'), Buffer.alloc(4_000, 'abcde')],
    ['SET', k('text2'), Buffer.alloc(4_000, 'bdfac')],
    ['JSON.SET', k('json'), '$', documentOf(count)],
  ];
  for (const line of strings) if (isNamed(line)) yield line;
}

/** Each: the beginning of a command that adds elements, and the words of one of them. */
function collectionsOf(
  count: number,
): readonly { readonly line: Line; readonly words: (at: number) => Line }[] {
  return [
    { line: ['SADD', k('set')], words: (at) => [`m${at}`] },
    { line: ['SADD', k('set2')], words: (at) => [`m${at * 2}`] },
    { line: ['HSET', k('hash')], words: (at) => [`f${at}`, `v${at}`] },
    { line: ['RPUSH', k('list')], words: (at) => [`e${at}`] },
    { line: ['ZADD', k('zset')], words: (at) => [String((at * 7_919) % count), `m${at}`] },
    { line: ['GEOADD', k('geo')], words: (at) => ['13.5', String(at % 80), `m${at}`] },
  ];
}

/** The last command's name, in lower case. */
export function commandOf({ lines }: Held): string {
  return String(lines.at(-1)![0]).toLowerCase();
}

/** Of the commands of these groups; by default all. */
export function heldNames(...groups: readonly Group[]): readonly string[] {
  const asked = groups.length > 0 ? groups : (Object.keys(heldOf) as Group[]);
  const helds = asked.flatMap((group) => heldOf[group](FEW));
  return [...new Set(helds.map(commandOf))];
}

/** What people call it. */
export function nameOf({ lines }: Held): string {
  const line = lines.length > 1 ? ['MULTI', `… ${lines.length - 2} commands`, 'EXEC'] : lines[0]!;
  const shown = line.slice(0, 6).map((word) => (word.length > 20 ? '…' : String(word)));
  return [...shown, ...(line.length > 6 ? [`… ${line.length} words`] : [])].join(' ');
}

/** `line` is followed by the names of so many sketches as are merged by one command. */
function onSketches(count: number, line: Line): Held {
  const sketch = toDense(emptySketch());
  if (sketch === 'corrupt') throw new Error('an empty sketch is none');
  const names = Array.from({ length: Math.min(count, SKETCHES_MAX) }, (_, at) => k(`p${at}`));
  return {
    before: [['MSET', ...names.flatMap((name) => [name, sketch])]],
    lines: [[...line, ...names]],
  };
}

function* filled(
  count: number,
  line: Line,
  words: (at: number) => Line,
): Generator<Line, void, unknown> {
  for (let from = 0; from < count; from += FILLED_AT_ONCE) {
    const to = Math.min(count, from + FILLED_AT_ONCE);
    yield [...line, ...Array.from({ length: to - from }, (_, at) => words(from + at)).flat()];
  }
}

/** Objects with a number and an array in it. */
function documentOf(count: number): string {
  const objects = Array.from({ length: Math.min(count, DOCUMENT_MAX) }, (_, at) => {
    return `{"a":${at},"b":[${at}]}`;
  });
  return `[${objects.join()}]`;
}

/** What DUMP gives of a set of all members. */
function dumpedSet(count: number): Buffer {
  const members = Array.from({ length: count }, (_, at) => encodeRdbString(Buffer.from(`m${at}`)));
  const sealing = sealRdbPayload([rdbTypeByte('set'), encodeRdbLength(count), ...members.flat()]);
  let step = sealing.next();
  while (!step.done) step = sealing.next([]);
  return step.value;
}

/** Of a group; made one after the other, since some carry megabytes. */
export const heldOf: Readonly<Record<Group, (count: number) => Held[]>> = {
  reads: readsOf,
  writes: writesOf,
  carrying: carryingOf,
  values: valuesOf,
};

function readsOf(count: number): Held[] {
  const half = String(Math.floor(count / 2));
  const lines: readonly Line[] = [
    ['PING'],
    ['SMEMBERS', k('set')],
    ['HGETALL', k('hash')],
    ['HKEYS', k('hash')],
    ['LRANGE', k('list'), '0', '-1'],
    ['ZRANGE', k('zset'), '0', '-1'],
    ['ZRANGE', k('zset'), '0', '-1', 'WITHSCORES'],
    ['ZREVRANGEBYSCORE', k('zset'), '+inf', '-inf'],
    ['SINTER', k('set'), k('set2')],
    ['SUNION', k('set'), k('set2')],
    ['SDIFF', k('set'), k('set2')],
    ['SINTERCARD', '2', k('set'), k('set2')],
    ['ZUNION', '2', k('zset'), k('set2')],
    ['ZINTER', '2', k('zset'), k('set2'), 'WITHSCORES'],
    ['SORT_RO', k('list'), 'ALPHA'],
    ['SRANDMEMBER', k('set'), half],
    ['SRANDMEMBER', k('set'), '-20000'],
    ['HRANDFIELD', k('hash'), half, 'WITHVALUES'],
    ['ZRANDMEMBER', k('zset'), half, 'WITHSCORES'],
    ['ZRANDMEMBER', k('zset'), '-20000'],
    ['ZRANDMEMBER', k('zset'), String(count - 1)],
    ['GEOSEARCH', k('geo'), 'FROMLONLAT', '13', '45', 'BYRADIUS', '9000', 'km', 'DESC'],
    ['ZRANDMEMBER', k('zset'), '1000'],
    ['DUMP', k('hash')],
    ['LPOS', k('list'), 'nothing'],
    ['HSCAN', k('hash'), '0', 'COUNT', '1000000'],
    ['JSON.GET', k('json'), '$..a'],
    ['JSON.TYPE', k('json'), '$[*].b[0]'],
    ['JSON.ARRLEN', k('json'), '$[?(@.a>5||@.b[*]==7)].b'],
  ];
  return lines.map(alone);
}

function writesOf(count: number): Held[] {
  const half = String(Math.floor(count / 2));
  return [
    alone(['COPY', k('set'), k('x'), 'REPLACE']),
    onCopy('set', ['SPOP', k('x'), half]),
    onCopy('set', ['DEL', k('x')]),
    alone(['SUNIONSTORE', k('x'), k('set'), k('set2')]),
    alone(['SINTERSTORE', k('x'), k('set'), k('set2')]),
    alone(['ZUNIONSTORE', k('x'), '2', k('zset'), k('set2')]),
    alone(['ZINTERSTORE', k('x'), '2', k('zset'), k('set2')]),
    alone(['SDIFFSTORE', k('x'), k('set'), k('set2')]),
    alone(['ZDIFFSTORE', k('x'), '2', k('zset'), k('set2')]),
    alone(['ZRANGESTORE', k('x'), k('zset'), '0', '-1']),
    alone(['SORT', k('list'), 'ALPHA', 'STORE', k('x')]),
    alone(['GEOSEARCHSTORE', k('x'), k('geo'), 'FROMLONLAT', '13', '45', 'BYRADIUS', '9000', 'km']),
    onCopy('zset', ['ZREMRANGEBYSCORE', k('x'), '-inf', `(${half}`]),
    onCopy('zset', ['ZPOPMIN', k('x'), half]),
    onCopy('list', ['LREM', k('x'), '0', 'e5']),
    onCopy('list', ['LINSERT', k('x'), 'BEFORE', `e${half}`, 'new']),
    onCopy('list', ['LPOP', k('x'), half]),
    onCopy('list', ['LTRIM', k('x'), '5', half]),
    alone(['RESTORE', k('x'), '0', dumpedSet(count), 'REPLACE']),
    onCopy('set', ['RENAME', k('x'), k('y')]),
    onCopy('zset', ['ZREMRANGEBYRANK', k('x'), '5', half]),
    onCopy('json', ['JSON.CLEAR', k('x'), '$[*].b']),
    onCopy('json', ['JSON.DEL', k('x'), '$[?(@.a>5)]']),
    onCopy('json', ['JSON.NUMINCRBY', k('x'), '$..a', '1']),
    onCopy('json', ['JSON.SET', k('x'), '$[*].b', '[1,2]']),
    {
      before: ['x', 'y'].map((name) => ['COPY', k('json'), k(name), 'REPLACE']),
      lines: [['JSON.MSET', k('x'), '$', documentOf(count), k('y'), '$', documentOf(count)]],
    },
  ];
}

/** Commands that carry their elements. */
function carryingOf(count: number): Held[] {
  const each = (words: (at: number) => Line) =>
    Array.from({ length: Math.min(count, ARGUMENTS_MAX) }, (_, at) => words(at)).flat();
  const fields = String(Math.min(count, ARGUMENTS_MAX));
  return [
    onNothing(['SADD', k('x'), ...each((at) => [`m${at}`])]),
    onNothing(['RPUSH', k('x'), ...each((at) => [`e${at}`])]),
    onNothing(['HSET', k('x'), ...each((at) => [`f${at}`, `v${at}`])]),
    onNothing(['ZADD', k('x'), ...each((at) => [`${at}`, `m${at}`])]),
    onNothing(['GEOADD', k('x'), ...each((at) => ['13.5', `${at % 80}`, `m${at}`])]),
    onCopy('set', ['SREM', k('x'), ...each((at) => [`m${at}`])]),
    onCopy('zset', ['ZREM', k('x'), ...each((at) => [`m${at}`])]),
    onCopy('hash', ['HEXPIRE', k('x'), '1000', 'FIELDS', fields, ...each((at) => [`f${at}`])]),
    alone(['HMGET', k('hash'), ...each((at) => [`f${at}`])]),
    alone(['MSET', ...each((at) => [k(`k${at}`), `v${at}`])]),
    alone(['MGET', ...each((at) => [k(`k${at}`)])]),
    alone(['EXISTS', ...each((at) => [k(`k${at}`)])]),
    onNothing(['PFADD', k('x'), ...each((at) => [`m${at}`])]),
    onSketches(count, ['PFCOUNT']),
    onSketches(count, ['PFMERGE', k('sketch')]),
    onNothing(['BITFIELD', k('x'), ...each((at) => ['SET', 'u8', `#${at}`, '1'])]),
    alone(['BITFIELD_RO', k('none'), ...each((at) => ['GET', 'u8', `#${at}`])]),
    exec(each((at) => [`m${at}`]).map((member) => ['SADD', k('x'), member])),
  ];
}

/** Strings of 16 MiB, each of which LevelDB takes and gives in one go, and long ones in common. */
function valuesOf(): Held[] {
  const lines: readonly Line[] = [
    ['GET', k('big')],
    ['BITCOUNT', k('big')],
    ['BITPOS', k('big'), '1', '16000000'],
    ['BITPOS', k('ones'), '0'],
    ['DUMP', k('big')],
    ['LCS', k('text1'), k('text2'), 'IDX'],
    ['BITOP', 'NOT', k('x'), k('big')],
    ['BITOP', 'AND', k('x'), k('big'), k('big2')],
    ['APPEND', k('big'), 'x'],
    ['SETRANGE', k('big'), '5', 'x'],
    ['SETBIT', k('big'), '5', '1'],
  ];
  return lines.map(alone);
}

/** Point operations, each on a collection of `count` elements: the command for one place of it. */
export function pointsOf(count: number): readonly ((at: number) => Line)[] {
  return [
    (at) => ['SISMEMBER', k('set'), `m${at}`],
    (at) => ['HGET', k('hash'), `f${at}`],
    (at) => ['LINDEX', k('list'), String(at)],
    (at) => ['ZSCORE', k('zset'), `m${at}`],
    (at) => ['ZRANK', k('zset'), `m${at}`],
    (at) => ['ZREVRANK', k('zset'), `m${at}`],
    (at) => ['ZCOUNT', k('zset'), String(at), '+inf'],
    (at) => ['ZLEXCOUNT', k('zset'), '-', `[m${at}`],
    (at) => ['ZRANGE', k('zset'), String(at), String(at)],
    () => ['SRANDMEMBER', k('set')],
    () => ['ZRANDMEMBER', k('zset')],
    (at) => ['SADD', k('set'), `m${at}`],
    (at) => ['HSET', k('hash'), `f${at}`, `v${at}`],
    (at) => ['LSET', k('list'), String(at), `e${at}`],
    (at) => ['ZADD', k('zset'), 'XX', String((at * 7_919) % count), `m${at}`],
    (at) => ['EXPIRE', k('set'), String(100_000 + at)],
    () => ['PERSIST', k('set')],
  ];
}
