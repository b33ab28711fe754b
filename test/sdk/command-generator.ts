/**
 * What the SDK knows of the command table: the rows that route a command, and a typed method for
 * each. The SDK may not import the datanode's table, so its files are written from it here, and
 * `commands/generated.test.ts` says when they are stale.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { type Argument, parseSyntax } from '../../src/datanode/commands/docs/command-arguments.ts';
import { syntaxByName } from '../../src/datanode/commands/docs/command-syntax.ts';
import { keySpecsOf } from '../../src/datanode/commands/docs/key-specs.ts';
import type { Command } from '../../src/datanode/commands/rows/command.ts';
import { commandTable } from '../../src/datanode/commands/table/table.ts';
import { methodName } from '../../src/sdk/command-methods.ts';

const root = join(import.meta.dirname, '..', '..');
export const folder = join(root, 'src', 'sdk', 'commands');

/** They change the connection they come over; the SDK has methods of its own for what they do. */
const ofConnections = new Set(
  (
    'multi exec discard watch unwatch hello auth select quit reset readonly readwrite asking ' +
    'subscribe unsubscribe psubscribe punsubscribe ssubscribe sunsubscribe monitor ' +
    'sync psync replconf'
  ).split(' '),
);

/**
 * Those of sessions (`kv.once`) as well: the SDK sends them by itself; and those that only
 * ZanRedisDB's door translates to (`zan.set`), or nodes of a Redis Cluster send.
 */
function isOfConnection({ name }: Command): boolean {
  return ofConnections.has(name) || /^(kv|zan)\.|-asking$/.test(name);
}

/** Commands of a node that change nothing: sent again whatever became of them. */
const harmless = new Set(
  'ping echo time info command cluster role lastsave lolwut pubsub wait waitaof memory'.split(' '),
);

/** Reply types; every command of the table must be in one line. */
const replies: readonly (readonly [type: string, of: string])[] = [
  [
    'number',
    'append decr decrby incr incrby strlen setnx msetnx msetex setrange getbit setbit bitcount bitpos ' +
      'json.del json.forget json.clear ' +
      'bitop lpush rpush lpushx rpushx llen lrem linsert hset hsetex hsetnx hdel hexists hstrlen hlen ' +
      'hincrby sadd srem sismember scard smove sinterstore sunionstore sdiffstore sintercard zrem ' +
      'zcard zcount zlexcount zrangestore zremrangebyrank zremrangebyscore zremrangebylex ' +
      'zunionstore zinterstore zdiffstore zintercard geoadd geosearchstore pfadd pfcount del ' +
      'unlink exists touch renamenx xack xdel xlen xtrim copy expire pexpire expireat pexpireat persist ttl pttl ' +
      'expiretime pexpiretime dbsize publish spublish move wait lastsave setifeq delifeq delex',
  ],
  [
    "'OK'",
    'json.mset xsetid setex psetex mset plset lset ltrim hmset rename restore flushall flushdb pfmerge swapdb save',
  ],
  ['string', 'getrange substr incrbyfloat hincrbyfloat zincrby type echo ping info lolwut'],
  ['string', 'pfselftest bgsave bgrewriteaof shutdown'],
  [
    'string | null',
    'set get getset getdel getex digest lindex hget rpoplpush lmove blmove brpoplpush randomkey dump ' +
      'zscore geodist xadd json.set json.get json.merge',
  ],
  ['string | readonly string[] | null', 'lpop rpop spop srandmember hrandfield zrandmember'],
  [
    'readonly string[]',
    'lrange hkeys hvals smembers sinter sunion sdiff keys zrange zrevrange zrangebyscore ' +
      'zrevrangebyscore zrangebylex zrevrangebylex zpopmin zpopmax zunion zinter zdiff',
  ],
  ['readonly (string | null)[]', 'json.mget mget hmget hgetdel hgetex zmscore geohash sort_ro'],
  ['readonly (string | null)[] | number', 'sort'],
  [
    'readonly number[]',
    'xackdel xdelex smismember hexpire hpexpire hexpireat hpexpireat hpersist httl hpttl hexpiretime ' +
      'hpexpiretime waitaof',
  ],
  ['readonly (number | null)[]', 'bitfield bitfield_ro'],
  ['number | readonly number[] | null', 'lpos'],
  ['number | readonly [rank: number, score: string] | null', 'zrank zrevrank'],
  ['number | string | null', 'zadd'],
  ['readonly [seconds: string, microseconds: string]', 'time'],
  ['readonly [key: string, element: string] | null', 'blpop brpop'],
  ['readonly [key: string, member: string, score: string] | null', 'bzpopmin bzpopmax'],
  ['readonly [key: string, elements: readonly string[]] | null', 'lmpop blmpop'],
  ['readonly [key: string, members: readonly (readonly string[])[]] | null', 'zmpop bzmpop'],
  ['Readonly<Record<string, string>>', 'hgetall'],
  ['readonly [cursor: string, found: readonly string[]]', 'scan sscan hscan zscan'],
  ['readonly (readonly [longitude: string, latitude: string] | null)[]', 'geopos'],
  ['readonly Nested[]', 'geosearch georadius_ro georadiusbymember_ro role command'],
  ['number | readonly Nested[]', 'georadius georadiusbymember'],
  ['readonly StreamEntry[]', 'xrange xrevrange'],
  ['StreamEntries | null', 'xread xreadgroup'],
  ['StreamPending', 'xpending'],
  ['readonly StreamEntry[] | readonly string[]', 'xclaim'],
  ['StreamClaim', 'xautoclaim'],
  ['Nested', 'xgroup xinfo'],
  [
    'Nested',
    'json.numincrby json.nummultby json.strappend json.strlen json.toggle json.arrappend json.arrindex ' +
      'json.arrinsert json.arrlen json.arrpop json.arrtrim json.objkeys json.objlen json.type json.resp ' +
      'json.debug',
  ],
  ['Nested', 'eval eval_ro evalsha evalsha_ro script fcall fcall_ro function'],
  ['Nested', 'lcs object memory client cluster pubsub config module debug latency slowlog acl'],
];

const replyByName = new Map(
  replies.flatMap(([type, of]) => of.split(' ').map((name) => [name, type] as const)),
);

/** A file of methods per group of the table; small ones stand together. */
const files: Readonly<Record<string, { readonly type: string; readonly groups: string }>> = {
  strings: { type: 'StringCommands', groups: 'string bitmap hyperloglog' },
  lists: { type: 'ListCommands', groups: 'list' },
  hashes: { type: 'HashCommands', groups: 'hash' },
  sets: { type: 'SetCommands', groups: 'set' },
  'sorted-sets': { type: 'SortedSetCommands', groups: 'sorted-set geo' },
  streams: { type: 'StreamCommands', groups: 'stream' },
  json: { type: 'JsonCommands', groups: 'json' },
  keyspace: { type: 'KeyspaceCommands', groups: 'generic' },
  server: {
    type: 'ServerCommands',
    groups: 'connection pubsub cluster server transactions scripting',
  },
};

/** Every generated file by name, formatted as the house formats. */
export function generateFiles(): ReadonlyMap<string, string> {
  const rows = [...commandTable.values()].filter((row) => !isOfConnection(row));
  const found = new Map([
    ['rows.ts', rowsFile()],
    ['read-names.ts', readNamesFile(rows)],
  ]);
  for (const [name, { type, groups }] of Object.entries(files)) {
    const own = rows.filter(({ group }) => groups.split(' ').includes(group));
    found.set(`${name}.ts`, methodsFile(type, own));
  }
  const written = [...found.values()].join('\n');
  const lost = rows.filter(({ name }) => !written.includes(`  ${methodName(name)}(`));
  if (lost.length > 0) throw new Error(`no file for the group of ${lost.map((row) => row.name)}`);
  return new Map([...found].map(([name, text]) => [name, formatted(name, text)]));
}

function formatted(name: string, text: string): string {
  const biome = join(root, 'node_modules', '.bin', 'biome');
  const args = ['format', `--stdin-file-path=${join(folder, name)}`];
  return execFileSync(biome, args, { cwd: root, input: text, encoding: 'utf8' });
}

const HEADING = 'Written from the command table by test/sdk/command-generator.ts.';

function rowsFile(): string {
  const lines = [...commandTable.values()].map((row) => rowOf(row));
  return [
    '/**',
    ` * ${HEADING} A line is: name · what it does (r`,
    ' * reads, w writes, b writes and may wait, n of a node, c of a connection; r/WORD, w/WORD: it may',
    ' * wait if that word is among its options) · where its keys stand (`key-places.ts`).',
    ' */',
    'export const commandRows = `',
    ...lines,
    '`;',
    '',
  ].join('\n');
}

/** Those that only read: what a watch may run before its transaction. */
function readNamesFile(rows: readonly Command[]): string {
  const names = rows
    .filter((row) => kindOf(row).startsWith('r'))
    .map(({ name }) => `  | '${methodName(name)}'`);
  return [
    `/** ${HEADING} */`,
    '',
    '/** Names of the commands that only read. */',
    'export type ReadName =',
    ...names,
    ';',
    '',
  ].join('\n');
}

function rowOf(row: Command): string {
  return [row.name, kindOf(row), ...placesOf(row)].join(' ');
}

/** As the rows spell it. */
function kindOf(row: Command): string {
  const inner = row.subcommands?.filter(({ name }) => !name.endsWith('|help')) ?? [];
  // a container of nothing but reads, or writes, of keys
  const [first] = inner;
  if (row.group === 'stream' && first && inner.every(({ kind }) => kind === first.kind)) {
    return kindOf(first);
  }
  return isOfConnection(row)
    ? 'c'
    : row.kind === 'node'
      ? harmless.has(row.name)
        ? 'r'
        : 'n'
      : waitingKindOf(row);
}

function waitingKindOf(row: Command): string {
  const plain = row.kind === 'read' ? 'r' : 'w';
  if (!row.flags.includes('blocking')) return plain;
  const waits = argumentsOf(row).some(({ token, optional }) => token === WAIT && optional);
  return waits ? `${plain}/${WAIT}` : 'b';
}

/** The option of those that wait only if asked to. */
const WAIT = 'BLOCK';

function argumentsOf({ name }: Command): readonly Argument[] {
  return parseSyntax(syntaxByName.get(name) ?? '');
}

function placesOf(row: Command): readonly string[] {
  // SORT's specification leaves open where its destination stands.
  if (row.name === 'sort') return ['1:r0,1', 'STORE,2:r0,1'];
  const rows = row.subcommands && row.name !== 'debug' ? row.subcommands : [row];
  const places = rows.flatMap((one) =>
    keySpecsOf(one).flatMap(({ begin, find }) => {
      if (begin.type === 'unknown' || find.type === 'unknown') return [];
      if (begin.type === 'keyword' && find.type === 'range' && find.limit > 1) {
        const options = optionsBefore(one, begin.keyword);
        return [`${begin.keyword}<${options}:r${find.last},${find.step},${find.limit}`];
      }
      const at = begin.type === 'index' ? `${begin.index}` : `${begin.keyword},${begin.from}`;
      return find.type === 'range'
        ? [`${at}:r${find.last},${find.step}`]
        : [`${at}:n${find.at},${find.first},${find.step}`];
    }),
  );
  return [...new Set(places)];
}

/** Options that may stand before `keyword`, and how many arguments each has: `COUNT1,GROUP2`. */
function optionsBefore(row: Command, keyword: string): string {
  const all = argumentsOf(row);
  const before = all.slice(
    0,
    all.findIndex(({ token }) => token === keyword),
  );
  return before
    .filter(({ type }) => type !== 'pure-token')
    .map(({ token, parts }) => `${token}${Math.max(1, parts.length)}`)
    .join(',');
}

function methodsFile(type: string, rows: readonly Command[]): string {
  const methods = rows.map((row) => methodOf(row)).join('\n');
  const used = [
    'CallOptions',
    'Key',
    'Nested',
    'Numeric',
    'Pairs',
    'StreamClaim',
    'StreamEntries',
    'StreamEntry',
    'StreamPending',
    'Value',
    'Variadic',
    'Word',
  ];
  const names = used.filter((name) => new RegExp(`\\b${name}\\b`).test(methods));
  return [
    `/** ${HEADING} */`,
    `import type { ${names.join(', ')} } from '../command-types.ts';`,
    '',
    `export interface ${type} {`,
    methods,
    '}',
    '',
  ].join('\n');
}

function methodOf(row: Command): string {
  const { name, summary } = row;
  const reply = replyByName.get(name);
  if (reply === undefined) throw new Error(`say in command-generator.ts what ${name} replies`);
  const syntax = syntaxOf(row);
  const shown = [name.toUpperCase(), shownSyntax(syntax)].join(' ').trim();
  const doc = wrapped(`${summary} \`${shown}\``.replace(/\*\//g, '* /'));
  return `${doc}\n  ${methodName(name)}(${parametersOf(row)}): Promise<${reply}>;`;
}

function syntaxOf({ name, subcommands }: Command): string {
  if (subcommands === undefined) return syntaxByName.get(name) ?? '';
  return subcommands.map((one) => one.name.split('|')[1]?.toUpperCase()).join(' | ');
}

/** Without the table's names of brackets and types. */
function shownSyntax(syntax: string): string {
  return syntax
    .replace(/\s+/g, ' ')
    .replace(/[a-z-]+=(?=[(['])/g, '')
    .replace(/'([^']+)'/g, '$1')
    .replace(/:[a-z-]+/g, '');
}

function wrapped(text: string): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line.length + word.length > 90) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  lines.push(line);
  if (lines.length === 1) return `  /** ${lines[0]} */`;
  return ['  /**', ...lines.map((one) => `   * ${one}`), '   */'].join('\n');
}

function parametersOf(row: Command): string {
  if (row.subcommands !== undefined) {
    const words = row.subcommands.map((one) => `'${one.name.split('|')[1]?.toUpperCase()}'`);
    const optional = row.arity === -1 ? '?' : '';
    return `subcommand${optional}: Word<${words.join(' | ')}>, ...more: Variadic`;
  }
  const all = argumentsOf(row);
  const found: string[] = [];
  let at = 0;
  for (; at < all.length; at++) {
    const argument = all[at]!;
    const type = fixedType(argument);
    if (type === undefined) break;
    const camel = camelCase(argument.name);
    // a word of the language
    const name = camel === 'function' ? 'functionName' : camel;
    const twice = found.some((one) => one.startsWith(`${name}:`));
    found.push(`${twice ? `${name}2` : name}: ${type}`);
  }
  const rest = all.slice(at);
  if (rest.length === 0) return [...found, 'options?: CallOptions'].join(', ');
  return [...found, restOf(rest)].join(', ');
}

/** The type of an argument that always stands at its place. */
function fixedType(argument: Argument): string | undefined {
  const { type, optional, multiple, token, parts } = argument;
  if (optional || multiple) return undefined;
  if (type === 'oneof' && parts.every((part) => part.type === 'pure-token')) {
    return `Word<${parts.map((part) => `'${part.token}'`).join(' | ')}>`;
  }
  if (token !== undefined) return undefined;
  if (type === 'key') return 'Key';
  if (type === 'integer' || type === 'double' || type === 'unix-time') return 'Numeric';
  return type === 'string' || type === 'pattern' ? 'Value' : undefined;
}

function restOf(rest: readonly Argument[]): string {
  const [only] = rest;
  if (rest.length === 1 && only && isPairs(only)) return '...pairs: Pairs';
  const name = rest.length === 1 && only ? plural(camelCase(only.name), only.multiple) : 'more';
  const words = [...new Set(rest.flatMap(tokensOf))].map((word) => `'${word}'`);
  return `...${name}: Variadic${words.length > 0 ? `<${words.join(' | ')}>` : ''}`;
}

/** A word before each, as BITFIELD_RO's GET, is not of an object. */
function isPairs({ multiple, type, parts, token }: Argument): boolean {
  return multiple && type === 'block' && parts.length === 2 && token === undefined;
}

function plural(name: string, multiple: boolean): string {
  if (!multiple || name.endsWith('s')) return name;
  return `${name}s`;
}

function tokensOf({ token, parts }: Argument): readonly string[] {
  return [...(token === undefined ? [] : [token]), ...parts.flatMap(tokensOf)];
}

function camelCase(name: string): string {
  return name.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
