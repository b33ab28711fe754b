/** Libraries and calls on replicas of one partition, without the rest of a node. */
import { beforeEach, describe, expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { seededRandom } from '../../../../src/common/random.ts';
import type { RunContext } from '../../../../src/datanode/commands/rows/command.ts';
import { resolveCommand } from '../../../../src/datanode/commands/table/table.ts';
import { encodeExec } from '../../../../src/datanode/commands/transactions/exec-line.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { Engine } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import { runReply } from '../../../../src/datanode/partition/turns/run-ranges.ts';
import type { Reply } from '../../../../src/datanode/resp/reply.ts';
import { LonePartition } from '../lone-partition.ts';
import { hasRedis, RealRedis } from '../real-redis.ts';
import { replyText } from '../reply-text.ts';

type Words = readonly (string | Buffer)[];

let partition: LonePartition;

beforeEach(async () => {
  partition = await LonePartition.open();
});

async function ask(...words: Words): Promise<string> {
  return replyText(await partition.call(...words));
}

const library = (name: string, body: string) => `#!lua name=${name}\n${body}`;
const one = (name: string, own: string, body = 'return 1') =>
  library(name, `redis.register_function('${own}', function(keys, args) ${body} end)`);

/** As a replica applies an entry, whatever it has applied before. */
async function apply(engine: Engine, index: number, words: Words): Promise<string> {
  const line = words.map((word) => Buffer.from(word as string));
  const row = resolveCommand(line);
  if (row?.kind !== 'write') throw new Error(`no write: ${words[0]}`);
  const prepared = row.prepare(line);
  if (!prepared.ok) return replyText(prepared.reply);
  const txn = new Txn(engine);
  txn.beginEntry(index);
  const random = seededRandom(index);
  const context: RunContext = {
    nowMs: 1_700_000_000_123,
    firstSlot: 0,
    lastSlot: 16_383,
    random: () => random.float(),
  };
  const pace = { isDue: () => index % 2 === 0, pause: () => Promise.resolve() };
  const result = prepared.run(txn, context);
  const reply = 'kind' in result ? result : await runReply(result, txn, pace);
  await engine.write(txn.operations());
  return replyText(reply);
}

describe('what a call leaves in its machine no other one sees', () => {
  const counting = library(
    'counting',
    `local n, seen, self = 0, {}, {}
     redis.register_function('count', function(keys, args)
       n = n + 1
       seen[#seen + 1] = args[1]
       self.n = (self.n or 0) + 1
       return {n, #seen, self.n, tostring({}), math.random(1000000)}
     end)
     redis.register_function('through', function() return pcall(function() n = n + 10 end) and n end)`,
  );

  test('a replica that has just come answers what one answers that ran all before', async () => {
    const { engine } = await createMemoryHost().open('1-0');
    const { engine: late } = await createMemoryHost().open('1-0');
    for (const of of [engine, late]) await apply(of, 1, ['FUNCTION', 'LOAD', counting]);
    for (let index = 2; index < 8; index++) {
      await apply(engine, index, ['FCALL', index % 2 === 0 ? 'count' : 'through', '0', 'x']);
    }
    const [first, again] = await Promise.all(
      [engine, late].map((of) => apply(of, 8, ['FCALL', 'count', '0', 'x'])),
    );
    expect(again).toBe(first);
    expect(first).toMatch(/^-\n {2}\(integer\) 1\n-\n {2}\(integer\) 1\n-\n {2}\(integer\) 1\n/);
    expect(await apply(late, 9, ['FCALL', 'count', '0'])).not.toBe(first);
    expect(await apply(engine, 10, ['FCALL', 'through', '0'])).toBe('(integer) 10');
  });

  test('tables that all runs share stay as they are', async () => {
    await ask(
      'FUNCTION',
      'LOAD',
      library(
        'own',
        `local mine = redis
         local tries = {
           function() mine.x = 1 end, function() redis.x = 1 end, function() string.x = 1 end,
           function() rawset(mine, 'x', 1) end, function() setmetatable(mine, {}) end,
           function() getmetatable('').__index = nil end, function() rawset(_G, 'x', 1) end,
           function() setmetatable(_G, nil) end, function() getmetatable(mine).__index = nil end,
         }
         redis.register_function('try', function(keys, args) tries[tonumber(args[1])]() end)`,
      ),
    );
    for (let at = 1; at <= 9; at++) {
      expect(await ask('FCALL', 'try', '0', String(at))).toMatch(/^\(error\) ERR .*readonly table/);
    }
  });
});

function prepareWrite(line: readonly Buffer[]) {
  const row = resolveCommand(line);
  if (row?.kind !== 'write') throw new Error('it writes');
  const prepared = row.prepare(line);
  if (!prepared.ok) throw new Error('it is well formed');
  return prepared.run;
}

/** A view, and how many records are looked up and changed in one step of who works on it. */
function counting(txn: Txn) {
  const counted = new Set<string | symbol>(['get', 'put', 'del']);
  let now = 0;
  const most = {
    ...{ all: 0, atOnce: 0 },
    between<T>(step: () => T): T {
      now = 0;
      const result = step();
      most.all += now;
      most.atOnce = Math.max(most.atOnce, now);
      return result;
    },
  };
  const view = new Proxy(txn, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (counted.has(name)) now++;
      return value.bind(target);
    },
  });
  return { view, most };
}

describe('bounds', () => {
  const load = (code: string) => ask('FUNCTION', 'LOAD', code);
  const registering = (n: number, of = '1') =>
    library(
      'many',
      `for i = 1, ${n} do redis.register_function('f' .. i, function() end) end ${of}`,
    );

  test('a library that takes too long to be loaded, or makes too much, is refused', async () => {
    expect(await load(library('l', 'while true do end'))).toBe(
      `(error) ERR Error registering functions: ERR the script takes more than ${limits.libraryLoadStepsMax} steps`,
    );
    expect(await load(library('l', "local x = ('x'):rep(20000000)"))).toMatch(/makes more than/);
    expect(await load(library('l', 'local function f() return f() + 1 end f()'))).toMatch(
      /registering functions: ERR user_function:2: stack overflow/,
    );
    expect(await ask('FUNCTION', 'STATS')).toMatch(/"libraries_count"\n *-\n *\(integer\) 0/);
    expect(await load(registering(1_000, 'local t = nil'))).toBe('"many"');
    expect(await load(registering(100_000, 'local t = nil'))).toMatch(/already exists/);
    expect(await ask('FUNCTION', 'LOAD', 'REPLACE', registering(20_000, 'local t'))).toMatch(
      /steps/,
    );
    expect(await ask('FCALL', 'F1000', '0')).toBe('(nil)');
  });

  test.each([
    ['LOAD', 'LOAD', registering(3_000, 'local t')],
    ['LOAD REPLACE', 'LOAD', 'REPLACE', registering(3_000, 'local t')],
    ['DELETE', 'DELETE', 'many'],
  ])('others have their turn while names of thousands are kept: %s', async (of, ...words) => {
    if (of !== 'LOAD') await load(registering(3_000, 'local t'));
    const line = ['FUNCTION', ...words].map((word) => Buffer.from(word));
    const { view, most } = counting(new Txn(partition.engine));
    const context = { nowMs: 0, firstSlot: 0, lastSlot: 16_383, random: () => 0 };
    const result = prepareWrite(line)(view, context);
    if ('kind' in result) throw new Error('it did all of it at once');
    let reply: Reply | undefined;
    while (reply === undefined) {
      const step = most.between(() => result.next([]));
      if (step.done) reply = step.value;
    }
    expect(replyText(reply)).not.toMatch(/^\(error\)/);
    expect(most.atOnce).toBeLessThan(50);
    expect(most.all).toBeGreaterThan(3_000);
  });

  test('names, code, and all that is kept', async () => {
    const [longest, longer] = ['n'.repeat(255), 'n'.repeat(256)];
    expect(await load(one(longer, 'f'))).toMatch(/has 255 bytes at most/);
    expect(await load(one('l', longer))).toMatch(/has 255 bytes at most/);
    expect(await load(one(longest, longest))).toBe(`"${longest}"`);
    expect(await ask('FCALL', longest, '0')).toBe('(integer) 1');
    expect(await load(one('l', 'f') + ' '.repeat(limits.scriptBytesMax))).toMatch(/bytes at most/);
    const filled = (at: number) =>
      one(`l${at}`, `f${at}`) + ' '.repeat(limits.scriptBytesMax - 200);
    let kept = 0;
    while ((await load(filled(kept))).startsWith('"l')) kept++;
    expect(kept).toBe(15);
    expect(await load(filled(kept))).toMatch(/^\(error\) ERR libraries have no more room/);
    // what is replaced makes room
    expect(await ask('FUNCTION', 'LOAD', 'REPLACE', filled(3))).toBe('"l3"');
    expect(await ask('FUNCTION', 'DELETE', 'l0')).toBe('OK');
    expect(await load(filled(kept))).toBe(`"l${kept}"`);
  });

  test('a call counts what its library does, and ends where a script does', async () => {
    const changeable: { scriptStepsMax: number } = limits;
    const before = limits.scriptStepsMax;
    changeable.scriptStepsMax = 100_000;
    const busy = one('l', 'f', 'for i = 1, args[1] do end');
    await load(busy.replace('\n', '\nfor i = 1, 90000 do end '));
    expect(await ask('FCALL', 'f', '0', '1000')).toBe('(nil)');
    expect(await ask('FCALL', 'f', '0', '20000')).toMatch(/more than 100000 steps script: f/);
    changeable.scriptStepsMax = before;
  });
});

describe('DUMP and RESTORE', () => {
  const dumped = async (of = partition) => {
    const reply = await of.call('FUNCTION', 'DUMP');
    if (reply.kind !== 'bulk') throw new Error(replyText(reply));
    return reply.bytes;
  };
  const names = async () =>
    [...(await ask('FUNCTION', 'LIST')).matchAll(/"library_name"\n[ -]*\n? *"(\w+)"/g)].map(
      ([, name]) => name,
    );

  test('APPEND refuses what is there, REPLACE takes its place, FLUSH leaves nothing else', async () => {
    await ask('FUNCTION', 'LOAD', one('a', 'f'));
    await ask('FUNCTION', 'LOAD', one('b', 'g'));
    const payload = await dumped();
    expect(await ask('FUNCTION', 'RESTORE', payload)).toBe('(error) ERR Library a already exists');
    await ask('FUNCTION', 'LOAD', 'REPLACE', one('a', 'other', 'return 2'));
    expect(await ask('FUNCTION', 'RESTORE', payload)).toMatch(/already exists, and differs$/);
    await ask('FUNCTION', 'DELETE', 'b');
    await ask('FUNCTION', 'LOAD', one('c', 'G'));
    expect(await ask('FUNCTION', 'RESTORE', payload, 'REPLACE')).toBe(
      '(error) ERR Function g already exists',
    );
    // nothing of what was refused is there
    expect(await ask('FCALL', 'other', '0')).toBe('(integer) 2');
    expect(await ask('FUNCTION', 'RESTORE', payload, 'FLUSH')).toBe('OK');
    expect(await names()).toEqual(['a', 'b']);
    expect(await ask('FCALL', 'f', '0')).toBe('(integer) 1');
    expect(await ask('FCALL', 'other', '0')).toMatch(/Function not found/);
    await ask('FUNCTION', 'LOAD', 'REPLACE', one('a', 'other'));
    expect(await ask('FUNCTION', 'RESTORE', payload, 'replace')).toBe('OK');
    expect(await dumped()).toEqual(payload);
  });

  test('a payload that is broken anywhere changes nothing', async () => {
    await ask('FUNCTION', 'LOAD', one('a', 'f'));
    const payload = await dumped();
    for (let at = 0; at < payload.length; at++) {
      const broken = Buffer.from(payload);
      broken[at]! ^= 0x41;
      expect(await ask('FUNCTION', 'RESTORE', broken, 'FLUSH')).toMatch(/version or checksum/);
    }
    expect(await names()).toEqual(['a']);
  });

  describe.skipIf(!hasRedis)('redis-server', () => {
    test('restores what is dumped here, and the other way round', async () => {
      const redis = await RealRedis.start();
      const text = async (...words: Words) =>
        replyText(await redis.call(...words.map((word) => Buffer.from(word as string))));
      for (const name of ['a', 'b', 'c']) {
        const long = `-- ${'abc'.repeat(name === 'a' ? 0 : 20_000)}\n`;
        const code = `${one(name, `f${name}`, `return '${name}'`)}\n${long}`;
        expect(await ask('FUNCTION', 'LOAD', code)).toBe(`"${name}"`);
      }
      expect(await text('FUNCTION', 'RESTORE', await dumped())).toBe('OK');
      expect(await text('FCALL', 'fb', '0')).toBe('"b"');
      const theirs = await redis.call(Buffer.from('FUNCTION'), Buffer.from('DUMP'));
      if (theirs.kind !== 'bulk') throw new Error(replyText(theirs));
      const before = await ask('FUNCTION', 'LIST', 'WITHCODE');
      expect(await ask('FUNCTION', 'RESTORE', theirs.bytes, 'FLUSH')).toBe('OK');
      expect(await ask('FUNCTION', 'LIST', 'WITHCODE')).toBe(before);
      await redis.stop();
    });
  });
});

test('functions run in transactions, in their places', async () => {
  await ask('FUNCTION', 'LOAD', one('l', 'put', "return redis.call('INCR', keys[1])"));
  const lines = [
    ['FCALL', 'put', '1', 'k'],
    ['FCALL', 'none', '0'],
    ['FCALL', 'put', 'x', 'k'],
    ['FCALL_RO', 'put', '1', 'k'],
    ['GET', 'k'],
  ].map((words) => words.map((word) => Buffer.from(word)));
  const reply = await partition.call(...encodeExec(lines));
  expect(replyText(reply)).toBe(
    [
      '-\n  (integer) 1',
      '-\n  (error) ERR Function not found',
      '-\n  (error) ERR Bad number of keys provided',
      '-\n  (error) ERR Can not execute a script with write flag using *_ro command.',
      '-\n  "1"',
    ].join('\n'),
  );
});
