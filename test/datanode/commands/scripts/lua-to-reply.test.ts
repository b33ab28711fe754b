import { expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { luaToReply } from '../../../../src/datanode/commands/scripts/lua-to-reply.ts';
import { LuaTable } from '../../../../src/datanode/lua/values/table.ts';
import type { LuaValue } from '../../../../src/datanode/lua/values/value.ts';
import { decodeReply } from '../../../../src/datanode/resp/decode-reply.ts';
import { encodeReply } from '../../../../src/datanode/resp/encode-reply.ts';
import type { Protocol, Reply } from '../../../../src/datanode/resp/reply.ts';

function table(fields: Readonly<Record<string, LuaValue>>): LuaTable {
  const made = new LuaTable();
  for (const [name, value] of Object.entries(fields)) made.set(name, value);
  return made;
}

function list(...items: readonly LuaValue[]): LuaTable {
  const made = new LuaTable();
  items.forEach((item, at) => void made.set(at + 1, item));
  return made;
}

interface Run {
  readonly reply: Reply;
  readonly pauses: number;
}

function run(value: LuaValue, protocol: Protocol = 2): Run {
  const steps = luaToReply(value, protocol);
  let pauses = 0;
  for (let step = steps.next([]); ; step = steps.next([])) {
    if (step.done) return { reply: step.value, pauses };
    pauses++;
  }
}

const bytesOf = (value: LuaValue, script: Protocol, client: Protocol) =>
  encodeReply(run(value, script).reply, client).toString('latin1');

test.each([
  ['bytes', '\u00ff\u0000', '$2\r\n\u00ff\u0000\r\n'],
  ['nothing', undefined, '$-1\r\n'],
  ['true', true, ':1\r\n'],
  ['false', false, '$-1\r\n'],
  ['a number', 3.99, ':3\r\n'],
  ['one between zero and minus one', -0.5, ':0\r\n'],
  ['one that no integer is', 2 ** 63, ':-9223372036854775808\r\n'],
  ['the smallest integer', -(2 ** 63), ':-9223372036854775808\r\n'],
  ['the largest double that is one', 2 ** 63 - 1024, ':9223372036854774784\r\n'],
  ['no number', Number.NaN, ':-9223372036854775808\r\n'],
  ['a double', table({ double: 0.1 }), '$3\r\n0.1\r\n'],
  ['an error in UTF-8', table({ err: '\u00c3\u00a4\r\n!' }), '-\u00c3\u00a4  !\r\n'],
  ['a status', table({ ok: 'a\nb' }), '+a b\r\n'],
  [
    'a big number',
    table({ big_number: '-12345678901234567890' }),
    '$21\r\n-12345678901234567890\r\n',
  ],
  ['what is no big number', table({ big_number: '1;' }), '*0\r\n'],
  ['up to a nil', list('a', undefined, 'c'), '*1\r\n$1\r\na\r\n'],
  ['an error among others', list(table({ err: 'E x' }), 1), '*2\r\n-E x\r\n:1\r\n'],
])('to a client of RESP2: %s', (_, value, expected) => {
  expect(bytesOf(value, 2, 2)).toBe(expected);
});

test.each([
  ['true', true, '#t\r\n'],
  ['nothing', undefined, '_\r\n'],
  ['a double', table({ double: 1 / 0 }), ',inf\r\n'],
  ['a map', table({ map: table({ a: 1 }) }), '%1\r\n$1\r\na\r\n:1\r\n'],
  ['a set', table({ set: table({ a: true }) }), '~1\r\n$1\r\na\r\n'],
  ['a big number', table({ big_number: '12' }), '(12\r\n'],
  ['a text', table({ verbatim_string: table({ format: 'mkd', string: 'x' }) }), '=5\r\nmkd:x\r\n'],
])('to a client of RESP3, of a script that has chosen it: %s', (_, value, expected) => {
  expect(bytesOf(value, 3, 3)).toBe(expected);
});

test('what the script has chosen says whether there are booleans', () => {
  expect([bytesOf(true, 2, 3), bytesOf(true, 3, 2), bytesOf(false, 3, 2)]).toEqual([
    ':1\r\n',
    ':1\r\n',
    ':0\r\n',
  ]);
});

function nested(depth: number): LuaValue {
  let value: LuaValue = 1;
  for (let at = 0; at < depth; at++) value = list(value);
  return value;
}

test('tables may be so deep within each other, and what reads replies follows', () => {
  const deepest = run(nested(limits.scriptReplyDepthMax)).reply;
  const inTransaction = encodeReply({ kind: 'array', items: [deepest] }, 2);
  expect(inTransaction.toString()).toMatch(/^(?:\*1\r\n){121}:1\r\n$/);
  expect(encodeReply(decodeReply(inTransaction), 2)).toEqual(inTransaction);
  const text = encodeReply(run(nested(limits.scriptReplyDepthMax + 1)).reply, 2).toString();
  expect(text).toMatch(/^(?:\*1\r\n){120}-ERR reached the limit of tables within each other/);
});

test('a table within itself ends', () => {
  const loop = new LuaTable();
  loop.set(1, loop);
  expect(encodeReply(run(loop).reply, 2).toString()).toMatch(/-ERR reached the limit/);
});

test('what would be too large is refused while it grows', () => {
  let twice: LuaValue = 'x';
  for (let at = 0; at < 100; at++) twice = list(twice, twice);
  expect(() => run(twice)).toThrow('would be larger than reply-bytes-max');
  const large = 'x'.repeat(1_000_000);
  expect(() => run(list(...Array.from({ length: 70 }, () => large)))).toThrow('reply-bytes-max');
});

test('others have their turns while a large one is made', () => {
  const { reply, pauses } = run(list(...Array.from({ length: 1_000 }, (_, at) => at)));
  expect(encodeReply(reply, 2).toString().startsWith('*1000\r\n:0\r\n:1\r\n')).toBe(true);
  expect(pauses).toBeGreaterThan(100);
});

test.each(['map', 'set'])('of a %s that is there many times holes are passed once', (shape) => {
  const holes = new LuaTable();
  for (let at = 0; at < 100_000; at++) holes.set(`k${at}`, true);
  for (let at = 1; at < 99_999; at++) holes.set(`k${at}`, undefined);
  const { reply } = run(list(...Array.from({ length: 500 }, () => table({ [shape]: holes }))), 3);
  const one =
    shape === 'map'
      ? '%2\r\n$2\r\nk0\r\n#t\r\n$6\r\nk99999\r\n#t'
      : '~2\r\n$2\r\nk0\r\n$6\r\nk99999';
  expect(encodeReply(reply, 3).toString()).toBe(`*500\r\n${`${one}\r\n`.repeat(500)}`);
  const { keys } = (holes as unknown as { pairs: { keys: unknown[] } }).pairs;
  expect(keys).toEqual(['k0', 'k99999']);
});

/** In microseconds, so that others on the machine do not count. */
function cpuOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

test('a text of line ends is on one line sooner than an expression has looked at each', () => {
  const ends = '\r\n'.repeat(5_000_000);
  const expression = cpuOf(() => void ends.replace(/[\r\n]/g, ' '));
  let reply: Reply | undefined;
  const cpu = cpuOf(() => {
    reply = run(table({ err: `\u00c3\u00a4${ends}` })).reply;
  });
  expect(reply).toEqual({ kind: 'error', text: `\u00e4${' '.repeat(ends.length)}` });
  expect(cpu).toBeLessThan(expression / 2);
});
