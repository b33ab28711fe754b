import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Command } from '../../../../src/datanode/commands/rows/command.ts';
import { commandTable } from '../../../../src/datanode/commands/table/table.ts';
import { decodeReply } from '../../../../src/datanode/resp/decode-reply.ts';
import { encodeReply } from '../../../../src/datanode/resp/encode-reply.ts';
import type { Reply } from '../../../../src/datanode/resp/reply.ts';
import { FakeNode } from '../fake-node.ts';
import { hasRedis, RealRedis } from '../real-redis.ts';

interface Entry {
  readonly name: string;
  readonly arity: number;
  readonly flags: readonly string[];
  readonly positions: readonly number[];
  readonly categories: readonly string[];
  readonly tips: readonly string[];
  readonly keySpecs: readonly string[];
}

/** Rows that differ from Redis 7.0.15, and why. */
const different: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^cluster\|/, 'answered while loading; what the placedriver does takes any arguments to refuse'],
  [/^command\|getkeys/, 'Redis 7.2 takes a command without arguments, 7.0 does not'],
  [/^(scan|randomkey)$/, 'tips as in Redis 7.2'],
  [/^z(rev)?rank$/, 'Redis 7.2 has WITHSCORE, 7.0 does not'],
];

/** Of no meaning here: nothing is loaded beside the data that is served. */
const NOT_OURS = 'no_async_loading';

function textOf(reply: Reply): string {
  if (reply.kind === 'bulk') return reply.bytes.toString('latin1');
  if (reply.kind === 'simple') return reply.text;
  throw new Error(`no text in ${reply.kind}`);
}

function itemsOf(reply: Reply | undefined): readonly Reply[] {
  if (reply?.kind === 'array' || reply?.kind === 'set') return reply.items;
  throw new Error(`no items in ${reply?.kind}`);
}

/** As a client has it: what is kept as bytes is read. */
function sent(reply: Reply): Reply {
  return decodeReply(encodeReply(reply, 3));
}

function numberOf(reply: Reply | undefined): number {
  if (reply?.kind === 'integer') return Number(reply.value);
  throw new Error(`no integer in ${reply?.kind}`);
}

function entryOf(reply: Reply): Entry {
  const fields = itemsOf(reply);
  return {
    name: textOf(fields[0]!),
    arity: numberOf(fields[1]),
    flags: itemsOf(fields[2])
      .map(textOf)
      .filter((flag) => flag !== NOT_OURS)
      .sort(),
    positions: [fields[3], fields[4], fields[5]].map(numberOf),
    categories: itemsOf(fields[6]).map(textOf).sort(),
    tips: itemsOf(fields[7]).map(textOf).sort(),
    keySpecs: itemsOf(fields[8]).map(specText),
  };
}

/** Words of a key specification, without its notes: those are prose. */
function specText(spec: Reply): string {
  const words = (reply: Reply): string[] => {
    if (reply.kind === 'map') return reply.pairs.flatMap((pair) => pair.flatMap(words));
    if (reply.kind === 'array' || reply.kind === 'set') return reply.items.flatMap(words);
    return [reply.kind === 'integer' ? String(reply.value) : textOf(reply)];
  };
  const all = words(spec);
  return (all[0] === 'notes' ? all.slice(2) : all).join(' ');
}

function isDifferent(name: string): boolean {
  return different.some(([pattern]) => pattern.test(name));
}

function everyName(): string[] {
  const rows: Command[] = [...commandTable.values()];
  return rows.flatMap((row) => [row.name, ...(row.subcommands ?? []).map(({ name }) => name)]);
}

describe.runIf(hasRedis)('COMMAND INFO beside a stock redis-server', () => {
  let redis: RealRedis;
  beforeAll(async () => {
    redis = await RealRedis.start();
  });
  afterAll(() => redis.stop());

  test('agrees on arity, flags, keys, categories and tips of every command both have', async () => {
    const names = everyName();
    const own = itemsOf(sent(await new FakeNode().call('command', 'info', ...names))).map(entryOf);
    const real = itemsOf(await redis.call('command', 'info', ...names));
    const shared = own.flatMap((entry, at) => {
      const other = real[at]!;
      return other.kind === 'array' ? [{ own: entry, real: entryOf(other) }] : [];
    });
    expect(shared.length).toBeGreaterThan(80);
    const unequal = shared.filter(({ own: mine, real: theirs }) => {
      return JSON.stringify(mine) !== JSON.stringify(theirs) && !isDifferent(mine.name);
    });
    expect(unequal.map((pair) => JSON.stringify(pair)).join('\n')).toBe('');
  });
});

describe('COMMAND', () => {
  test('counts and lists the same commands', async () => {
    const node = new FakeNode();
    const listed = itemsOf(await node.call('command', 'list')).map(textOf);
    expect(listed).toEqual(expect.arrayContaining(['acl', 'acl|cat', 'client|id', 'command|list']));
    const commands = listed.filter((name) => !name.includes('|'));
    expect(numberOf(await node.call('command', 'count'))).toBe(commands.length);
    expect(commands).toContain('get');
    expect(itemsOf(sent(await node.call('command'))).map((row) => entryOf(row).name)).toEqual(
      commands,
    );
  });

  test('tells of commands that came later what Redis tells of them', async () => {
    const told = itemsOf(sent(await new FakeNode().call('command', 'info', 'msetex', 'xdelex')));
    expect(told.map((row) => entryOf(row).tips)).toEqual([
      ['request_policy:multi_shard', 'response_policy:all_succeeded'],
      [],
    ]);
  });

  test('GETKEYS finds the keys of MSET and refuses a command without keys', async () => {
    const node = new FakeNode();
    const keys = await node.call('command', 'getkeys', 'mset', 'a', '1', 'b', '2');
    expect(itemsOf(keys).map(textOf)).toEqual(['a', 'b']);
    const pairs = ['msetex', '2', 'a', '1', 'b', '2', 'NX'];
    expect(itemsOf(await node.call('command', 'getkeys', ...pairs)).map(textOf)).toEqual([
      'a',
      'b',
    ]);
    expect(await node.call('command', 'getkeys', 'ping')).toEqual({
      kind: 'error',
      text: 'ERR The command has no key arguments',
    });
  });

  test.each([
    ['zunionstore d x a b', 'Invalid arguments specified for command'],
    ['zinterstore d 0 a b', 'Invalid arguments specified for command'],
    ['zdiffstore d -1 a b', 'Invalid arguments specified for command'],
    ['zunionstore d 3 a b', 'Invalid arguments specified for command'],
    ['object nope x', 'Invalid command specified'],
    ['config nope', 'Invalid command specified'],
    ['config get a', 'The command has no key arguments'],
  ])('GETKEYS and GETKEYSANDFLAGS refuse %s', async (line, text) => {
    const node = new FakeNode();
    for (const name of ['getkeys', 'getkeysandflags']) {
      const reply = await node.call('command', name, ...line.split(' '));
      expect(reply).toEqual({ kind: 'error', text: `ERR ${text}` });
    }
  });

  test('INFO answers null for a name it does not know', async () => {
    const [known, unknown] = itemsOf(
      sent(await new FakeNode().call('command', 'info', 'get', 'nope')),
    );
    expect(entryOf(known!)).toMatchObject({ name: 'get', arity: 2, positions: [1, 1, 1] });
    expect(unknown).toEqual({ kind: 'null' });
  });

  test('GETKEYSANDFLAGS tells what is done to each key', async () => {
    const node = new FakeNode();
    const ask = async (line: string) => {
      const reply = await node.call('command', 'getkeysandflags', ...line.split(' '));
      return itemsOf(reply).map((item) => {
        const [key, flags] = itemsOf(item);
        return [textOf(key!), ...itemsOf(flags).map(textOf)].join(' ');
      });
    };
    expect(await ask('set a 1')).toEqual(['a OW update']);
    expect(await ask('set a get')).toEqual(['a OW update']);
    expect(await ask('set a 1 GET')).toEqual(['a RW access update']);
    expect(await ask('set a 1 EX 10 IFEQ b')).toEqual(['a RW access update']);
    expect(await ask('delex a')).toEqual(['a RW delete']);
    expect(await ask('delex a IFEQ b')).toEqual(['a RW access delete']);
    expect(await ask('hgetdel a FIELDS 1 b')).toEqual(['a RW access delete']);
    expect(await ask('hgetex a FIELDS 1 b')).toEqual(['a RW access update']);
    expect(await ask('rename a b')).toEqual(['a RW access delete', 'b OW update']);
    expect(await ask('mset a 1 b 2')).toEqual(['a OW update', 'b OW update']);
    expect(await ask('memory usage a')).toEqual(['a RO']);
    expect(await ask('debug object a')).toEqual(['a RO']);
  });
});
