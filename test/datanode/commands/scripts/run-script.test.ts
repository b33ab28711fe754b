import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { slotOfKey } from '../../../../src/common/hash.ts';
import { limits } from '../../../../src/common/limits.ts';
import { seededRandom } from '../../../../src/common/random.ts';
import { applyVersions } from '../../../../src/datanode/commands/rows/apply-versions.ts';
import type { RunContext } from '../../../../src/datanode/commands/rows/command.ts';
import { resolveCommand } from '../../../../src/datanode/commands/table/table.ts';
import { encodeExec } from '../../../../src/datanode/commands/transactions/exec-line.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { Engine } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import { runReply } from '../../../../src/datanode/partition/turns/run-ranges.ts';
import { error, type Reply } from '../../../../src/datanode/resp/reply.ts';
import { LonePartition } from '../lone-partition.ts';
import { replyText } from '../reply-text.ts';

type Word = string | Buffer;
type Line = readonly Word[];

const buffers = (line: Line) => line.map((word) => Buffer.from(word as string));

function shaOf(body: Word): string {
  return createHash('sha1').update(body).digest('hex');
}

/** As a replica applies an entry: with the same time and seed, and pauses where it likes. */
class Replica {
  readonly engine: Engine;
  readonly more: Partial<RunContext>;
  pauses = 0;
  readonly #isDue: () => boolean;

  constructor(engine: Engine, more: Partial<RunContext> = {}, isDue: () => boolean = () => false) {
    this.engine = engine;
    this.more = more;
    this.#isDue = isDue;
  }

  static async open(more?: Partial<RunContext>, isDue?: () => boolean): Promise<Replica> {
    const { engine } = await createMemoryHost().open('1-0');
    return new Replica(engine, more, isDue);
  }

  async apply(index: number, ...words: Line): Promise<string> {
    const line = buffers(words);
    const row = resolveCommand(line);
    if (row?.kind !== 'write') throw new Error(`no write: ${words[0]}`);
    const prepared = row.prepare(line);
    if (!prepared.ok) return replyText(prepared.reply);
    const txn = new Txn(this.engine);
    txn.beginEntry(index);
    const random = seededRandom(index);
    const context = {
      nowMs: 1_700_000_000_123,
      firstSlot: 0,
      lastSlot: 16_383,
      random: () => random.float(),
      ...this.more,
    };
    const pause = async () => void this.pauses++;
    const result = prepared.run(txn, context);
    const reply =
      'kind' in result ? result : await runReply(result, txn, { isDue: this.#isDue, pause });
    await this.engine.write(txn.operations());
    return replyText(reply);
  }

  async image(): Promise<string> {
    const all = { gte: Buffer.from([1]), lt: Buffer.from([0xff]) };
    const pairs = await this.engine.iterate(all).next(100_000);
    return pairs.map((pair) => pair.map((bytes) => bytes.toString('hex')).join(' ')).join('\n');
  }
}

let partition: LonePartition;
beforeEach(async () => {
  partition = await LonePartition.open();
});

async function call(...words: Line): Promise<string> {
  return replyText(await partition.call(...words));
}

describe('a script comes to the same', () => {
  const script = `
    redis.call('sadd', KEYS[1], 'a', 'b', 'c', 'd', 'e', 'f', 'g')
    for i = 1, 5 do
      redis.call('rpush', KEYS[2], redis.call('srandmember', KEYS[1]), math.random(1000), redis.call('time')[2])
    end
    local seen = {}
    for i = 1, 300 do seen['k' .. i % 37] = i end
    for key, value in pairs(seen) do redis.call('rpush', KEYS[2], key .. value) end
    redis.call('hset', KEYS[3], tostring(seen), 'x', redis.sha1hex('x'), redis.call('spop', KEYS[1]))
    local n = 0
    while n < 20000 do n = n + 1 end
    redis.call('pexpire', KEYS[3], 5000)
    return redis.call('lrange', KEYS[2], 0, -1)`;

  test('on two stores, however often it paused', async () => {
    let asked = 0;
    const quick = await Replica.open();
    const slow = await Replica.open({}, () => ++asked % 2 === 0);
    const lines: Line[] = [
      ['EVAL', script, '3', 's', 'l', 'h'],
      ['EVALSHA', shaOf(script), '3', 's', 'l', 'h'],
      ['EVAL', 'error(1)', '0'],
      ['SCRIPT', 'LOAD', 'return 7'],
    ];
    for (const [at, line] of lines.entries()) {
      expect(await slow.apply(at + 1, ...line)).toBe(await quick.apply(at + 1, ...line));
    }
    expect(slow.pauses).toBeGreaterThan(20);
    expect(await slow.image()).toBe(await quick.image());
  });

  test('when a process compiles it that has not met it', async () => {
    const replica = await Replica.open();
    await replica.apply(1, 'SCRIPT', 'LOAD', script);
    const before = new Replica(replica.engine);
    vi.resetModules();
    const { resolveCommand: anew } = await import(
      '../../../../src/datanode/commands/table/table.ts'
    );
    const row = anew(buffers(['EVALSHA']));
    if (row?.kind !== 'write') throw new Error('no write');
    const prepared = row.prepare(buffers(['EVALSHA', shaOf(script), '3', 's', 'l', 'h']));
    if (!prepared.ok) throw new Error(replyText(prepared.reply));
    const txn = new Txn(replica.engine);
    txn.beginEntry(2);
    const random = seededRandom(2);
    const context = {
      nowMs: 1_700_000_000_123,
      firstSlot: 0,
      lastSlot: 16_383,
      random: () => random.float(),
    };
    const result = prepared.run(txn, context);
    const fresh =
      'kind' in result
        ? result
        : await runReply(result, txn, { isDue: () => false, pause: async () => {} });
    expect(replyText(fresh)).toBe(
      await before.apply(2, 'EVALSHA', shaOf(script), '3', 's', 'l', 'h'),
    );
  });
});

describe('what it may not', () => {
  test('is to touch a key of another partition', async () => {
    partition.lastSlot = slotOfKey(Buffer.from('a'));
    partition.firstSlot = partition.lastSlot;
    expect(await call('EVAL', "return redis.call('set', 'a', '1')", '0')).toBe('OK');
    const refused =
      /^\(error\) ERR Script attempted to access a non local key in a cluster node script: /;
    expect(await call('EVAL', "return redis.call('set', 'b', '1')", '0')).toMatch(refused);
    expect(await call('EVAL', "return redis.call('get', 'b')", '0')).toMatch(refused);
    expect(await call('EVAL_RO', "return redis.call('mget', 'a', 'b')", '0')).toMatch(refused);
    expect(await call('EVAL', "return redis.pcall('del', 'a', 'b').err", '0')).toBe(
      '"ERR Script attempted to access a non local key in a cluster node"',
    );
    expect(await call('GET', 'a')).toBe('"1"');
  });

  test('is a key, or an argument, that is longer than others may send', async () => {
    const key = `return redis.pcall('set', string.rep('k', ${limits.keyBytesMax + 1}), 'x')`;
    expect(await call('EVAL', key, '0')).toBe(
      `(error) ERR a key of ${limits.keyBytesMax + 1} bytes is longer than ${limits.keyBytesMax}`,
    );
    const value = `return redis.pcall('set', 'k', string.rep('v', ${limits.valueBytesMax + 1}))`;
    expect(await call('EVAL', value, '0')).toMatch(
      /^\(error\) ERR an argument of \d+ bytes is longer/,
    );
    const longest = `return redis.call('set', 'k', string.rep('v', ${limits.valueBytesMax}))`;
    expect(await call('EVAL', longest, '0')).toBe('OK');
  });

  test('is what builds that its entry is due to know nothing of', async () => {
    const older = await Replica.open({ applyVersion: applyVersions.comparisons - 1 });
    const unknown = /^\(error\) ERR Unknown Redis command called from script/;
    expect(await older.apply(1, 'EVAL', "return redis.call('delex', 'k')", '0')).toMatch(unknown);
    const option = "return redis.call('set', 'k', 'v', 'ifeq', 'v')";
    expect(await older.apply(2, 'EVAL', option, '0')).toMatch(
      /^\(error\) ERR syntax error script: /,
    );
    const own = await Replica.open({ applyVersion: applyVersions.scripts });
    expect(await own.apply(1, 'EVAL', "return redis.call('delex', 'k')", '0')).toBe('(integer) 0');
    expect(await own.apply(2, 'EVAL', option, '0')).toBe('(nil)');
    const many = "return redis.call('msetex', '1', 'k', 'v')";
    const bits = "return redis.call('bitop', 'ONE', 'to', 'k')";
    const before = await Replica.open({ applyVersion: applyVersions.redis84 - 1 });
    expect(await before.apply(1, 'EVAL', many, '0')).toMatch(unknown);
    expect(await before.apply(2, 'EVAL', bits, '0')).toMatch(
      /^\(error\) ERR syntax error script: /,
    );
    const added = "return redis.call('xadd', 's', 'acked', 'maxlen', 'x', '1-1', 'f', 'v')";
    expect(await before.apply(3, 'EVAL', added, '0')).toMatch(
      /^\(error\) ERR Invalid stream ID specified as stream command argument script: /,
    );
    const now = await Replica.open({ applyVersion: applyVersions.redis84 });
    expect(await now.apply(1, 'EVAL', many, '0')).toBe('(integer) 1');
    expect(await now.apply(2, 'EVAL', bits, '0')).toBe('(integer) 1');
  });
});

describe('beyond a limit it ends, and what it had written stays', () => {
  const written = "redis.call('incr', KEYS[1])";

  test('of steps', async () => {
    const reply = await call('EVAL', `${written} while true do end`, '1', 'n');
    expect(reply).toMatch(
      /^\(error\) ERR the script takes more than \d+ steps script: [0-9a-f]{40}\.$/,
    );
    expect(await call('GET', 'n')).toBe('"1"');
  });

  test('of steps, within a pcall', async () => {
    const body = `${written} while true do pcall(function() while true do end end) end`;
    expect(await call('EVAL', body, '1', 'n')).toMatch(/^\(error\) ERR the script takes more than/);
  });

  test('of steps, whatever little it calls', async () => {
    const body = `${written} while true do redis.pcall('nosuch') end`;
    expect(await call('EVAL', body, '1', 'n')).toMatch(/^\(error\) ERR the script takes more than/);
  });

  test('of bytes that it makes', async () => {
    const body = `${written} local t = {} for i = 1, 1e9 do t[i] = string.rep('x', 100000) .. i end`;
    expect(await call('EVAL', body, '1', 'n')).toMatch(
      /^\(error\) ERR the script makes more than \d+ bytes script: [0-9a-f]{40}\.$/,
    );
    expect(await call('GET', 'n')).toBe('"1"');
  });

  test('of bytes that it is answered', async () => {
    await call('SET', 'large', 'x'.repeat(1_000_000));
    const body = `${written} local t = {} for i = 1, 1e9 do redis.call('get', 'large') end`;
    expect(await call('EVAL', body, '1', 'n')).toMatch(/^\(error\) ERR the script makes more than/);
  });

  test('of bytes that it hands to commands, though it makes few', async () => {
    const body = `${written} local s = string.rep('x', 1000000) while true do redis.pcall('nosuch', s) end`;
    expect(await call('EVAL', body, '1', 'n')).toMatch(/^\(error\) ERR the script makes more than/);
  });

  test('of bytes that it puts, though it makes few', async () => {
    await call('SET', 'large', 'x'.repeat(4_000_000));
    const body = `${written} for i = 1, 1e9 do redis.call('append', 'large', 'y') end`;
    expect(await call('EVAL', body, '1', 'n')).toMatch(
      /^\(error\) ERR the script has put more than \d+ bytes into keys script: /,
    );
    expect(await call('GET', 'n')).toBe('"1"');
    const length = Number(/\d+/.exec(await call('STRLEN', 'large'))![0]) - 4_000_000;
    expect(length).toBe(Math.floor(limits.scriptPutBytesMax / 4_000_000) + 1);
  });

  test('of what it answers', async () => {
    const body = `${written} local s = string.rep('x', 1000000) local t = {} for i = 1, 70 do t[i] = s end return t`;
    expect(await call('EVAL', body, '1', 'n')).toMatch(/^\(error\) ERR the reply would be larger/);
    expect(await call('GET', 'n')).toBe('"1"');
  });

  test('of what a command answers that answer is an error', async () => {
    const fill = `local s = string.rep('x', 1000000) for i = 1, 70 do redis.call('rpush', 'l', s) end`;
    await call('EVAL', fill, '0');
    const body = `${written} return redis.pcall('lrange', 'l', 0, -1).err`;
    expect(await call('EVAL', body, '1', 'n')).toMatch(/^"ERR the reply would be larger than/);
  });

  test('of the name of a channel nothing is published', async () => {
    const body = `return redis.pcall('publish', string.rep('c', ${limits.channelBytesMax + 1}), 'm')`;
    expect(await call('EVAL', body, '0')).toMatch(/^\(error\) ERR a channel's name has/);
  });

  test('of replies an error that nothing caught has no longer text', async () => {
    const long = `error(string.rep('x', ${limits.replyBytesMax - 11_000_000}) .. string.rep('\\n', 11000001))`;
    expect(await call('EVAL', long, '0')).toMatch(/^\(error\) ERR the reply would be larger than/);
    const error = await call('EVAL', `error({err = string.rep('\\n', 100000)})`, '0');
    expect(error).toMatch(/^\(error\) {100002}script: /);
  });

  test('of its own length it is not run', async () => {
    const body = `return 1 --${'x'.repeat(limits.scriptBytesMax - 11)}`;
    expect(await call('EVAL', body, '0')).toBe('(integer) 1');
    expect(await call('EVAL', `${body}x`, '0')).toBe(
      `(error) ERR a script has ${limits.scriptBytesMax} bytes at most`,
    );
    expect(await call('SCRIPT', 'LOAD', `${body}x`)).toMatch(/^\(error\) ERR a script has/);
  });
});

test('an error that is a table without a text has one', async () => {
  expect(await call('EVAL', 'error({1})', '0')).toMatch(/^\(error\) ERR unknown error script: /);
  expect(await call('EVAL', 'error()', '0')).toMatch(/^\(error\) ERR nil script: /);
  expect(await call('EVAL', 'error(true)', '0')).toMatch(/^\(error\) ERR true script: /);
});

test('the next run finds nothing of the one before', async () => {
  await call('EVAL', 'KEYS[9] = 1 math.randomseed(5) return redis.setresp(3)', '0');
  const asked = 'return {KEYS[9] == nil, {double = 0.5}}';
  expect(await call('EVAL', asked, '0')).toBe(await call('EVAL', asked, '0'));
  const drawn = new Set<string>();
  for (let run = 0; run < 8; run++) {
    await call('EVAL', 'math.randomseed(5)', '0');
    drawn.add(await call('EVAL', 'return math.random(2000000000)', '0'));
  }
  expect(drawn.size).toBe(8);
  await call('EVAL', "string.rep = nil getmetatable('').__index = nil", '0');
  expect(await call('EVAL', "return ('x'):rep(3)", '0')).toBe('"xxx"');
});

describe('what it does beside its reply', () => {
  test('is told of every write that was carried out, and of no read', async () => {
    const ran: string[] = [];
    const effects = {
      ran: (line: readonly Buffer[]) => void ran.push(line.join(' ')),
      publish: (channel: Buffer, message: Buffer, isSharded: boolean) =>
        void ran.push(`${channel}: ${message}${isSharded ? ' (sharded)' : ''}`),
    };
    const replica = await Replica.open({ effects });
    const body = `redis.call('lpush', 'l', 'a') redis.call('lrange', 'l', 0, -1)
      redis.call('publish', 'c', 'm') redis.call('sPublish', 'd', 'n')
      return redis.call('rpush', 'l', ARGV[1])`;
    expect(await replica.apply(1, 'EVAL', body, '0', 'b')).toBe('(integer) 2');
    expect(ran).toEqual(['lpush l a', 'c: m', 'd: n (sharded)', 'rpush l b']);
  });

  test('are the events of its commands', async () => {
    await call('EVAL', "redis.call('set', 'k', 'v') return redis.call('del', 'k')", '0');
    expect(partition.events.map(({ event }) => event)).toEqual(['new', 'set', 'del']);
  });
});

test.each([
  [applyVersions.laterRedis, '(integer) 7999'],
  [applyVersions.laterRedis - 1, '(error) ERR user_script:1: too many results to unpack script: '],
])('in an entry of version %i unpack gives what builds of it give', async (applyVersion, told) => {
  const replica = await Replica.open({ applyVersion });
  const body = "local a = {} for i = 1, 7999 do a[i] = i end return select('#', unpack(a))";
  expect((await replica.apply(1, 'EVAL', body, '0')).slice(0, told.length)).toBe(told);
  const code = `#!lua name=l\nredis.register_function('f', function() ${body} end)`;
  expect(await replica.apply(2, 'FUNCTION', 'LOAD', code)).toBe('"l"');
  const called = (await replica.apply(3, 'FCALL', 'f', '0')).replace('_function:2', '_script:1');
  expect(called.slice(0, told.length)).toBe(told);
});

test.each([
  [applyVersions.deepHandlers, '"122 error in error handling"'],
  [applyVersions.deepHandlers - 1, '"221 error in error handling"'],
])(
  'in an entry of version %i xpcall asks a handler as often as builds of it',
  async (applyVersion, told) => {
    const replica = await Replica.open({ applyVersion });
    const body = `local asked = 0
    local function handler() asked = asked + 1 error('again') end
    local function within(calls)
      if calls == 0 then return xpcall(error, handler) end
      return select(2, pcall(within, calls - 1))
    end
    local _, said = within(99)
    return asked .. ' ' .. tostring(said)`;
    expect(await replica.apply(1, 'EVAL', body, '0')).toBe(told);
  },
);

test('in an entry of a version before it XREADGROUP does not know CLAIM, as builds of it', async () => {
  const line = ['XREADGROUP', 'GROUP', 'g', 'c', 'CLAIM', '0', 'STREAMS', 's', '>'];
  const told = async (applyVersion: number) => {
    const replica = await Replica.open({ applyVersion });
    await replica.apply(1, 'XGROUP', 'CREATE', 's', 'g', '$', 'MKSTREAM');
    return await replica.apply(2, 'EVAL', `return redis.call('${line.join("', '")}')`, '0');
  };
  expect(await told(applyVersions.redis84)).toBe('(nil)');
  expect(await told(applyVersions.redis84 - 1)).toContain('ERR syntax error');
});

test('in a transaction it is one of its commands', async () => {
  const exec = encodeExec(
    [
      ['SET', 'n', '5'],
      ['EVAL', "return redis.call('incr', KEYS[1])", '1', 'n'],
      ['EVAL', "redis.call('incr', 'n') return redis.call('nosuch')", '0'],
      ['EVALSHA', shaOf("return redis.call('incr', KEYS[1])"), '1', 'n'],
      ['EVAL_RO', "return redis.call('get', 'n')", '0'],
    ].map(buffers),
  );
  const reply = await partition.call(...exec);
  const texts = reply.kind === 'array' ? reply.items.map((item) => replyText(item)) : [];
  expect(texts[2]).toMatch(/^\(error\) ERR Unknown Redis command called from script script: /);
  expect(texts.toSpliced(2, 1)).toEqual(['OK', '(integer) 6', '(integer) 8', '"8"']);
});

test('under a session it takes effect once', async () => {
  await call('KV.SESSION', 'OPEN', 'session-1', 'n');
  const body = "return {redis.call('incr', KEYS[1]), {{{{{{{{{1}}}}}}}}}}";
  const once = ['KV.ONCE', 'session-1', '1', '1', 'EVAL', body, '1', 'n'];
  const first = await call(...once);
  expect(first).toMatch(/^-\n {2}\(integer\) 1\n-/);
  expect(await call(...once)).toBe(first);
  expect(await call('GET', 'n')).toBe('"1"');
});

test('bodies are known by their bytes', async () => {
  const body = Buffer.from([...Buffer.from("return '"), 0xff, 0x80, 0, 0xc3, ...Buffer.from("'")]);
  const sha = shaOf(body);
  const answer = '"\u00ff\u0080\\u0000\u00c3"';
  expect(await call('SCRIPT', 'LOAD', body)).toBe(`"${sha}"`);
  expect([await call('EVAL', body, '0'), await call('EVALSHA', sha, '0')]).toEqual([
    answer,
    answer,
  ]);
});

test('what is compiled is not taken for kept', async () => {
  await call('EVAL', 'return 41', '0');
  const other = await LonePartition.open();
  const reply = await other.call('EVALSHA', shaOf('return 41'), '0');
  expect(reply).toEqual(error('NOSCRIPT No matching script. Please use EVAL.') satisfies Reply);
});

test.each([
  "return string.rep('x', 80000000)",
  "return {err = string.rep('x', 80000000)}",
  "return {ok = string.rep('x', 80000000)}",
  "return redis.status_reply(string.rep('x', 80000000))",
])('no single value is a larger reply than others may be: %s', async (body) => {
  expect(await call('EVAL', body, '0')).toMatch(/^\(error\) ERR .*fewer or smaller values/);
});
