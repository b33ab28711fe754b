import { expect, test } from 'vitest';
import { replyToLua } from '../../../../src/datanode/commands/scripts/reply-to-lua.ts';
import { ScriptLimitError } from '../../../../src/datanode/lua/values/error.ts';
import type { Meter } from '../../../../src/datanode/lua/values/function.ts';
import { LuaTable } from '../../../../src/datanode/lua/values/table.ts';
import type { LuaValue } from '../../../../src/datanode/lua/values/value.ts';
import {
  array,
  bulk,
  error,
  integer,
  NULL,
  NULL_ARRAY,
  OK,
  type Protocol,
  type Reply,
} from '../../../../src/datanode/resp/reply.ts';
import { ReplyPile } from '../../../../src/datanode/resp/reply-pile.ts';

class Counted implements Meter {
  count = 0;
  readonly #bytesMax: number;

  constructor(bytesMax = Number.POSITIVE_INFINITY) {
    this.#bytesMax = bytesMax;
  }

  steps(): void {}

  bytes(count: number): void {
    this.count += count;
    if (this.count > this.#bytesMax) throw new ScriptLimitError('too much');
  }
}

let pauses = 0;

function run(reply: Reply, protocol: Protocol, meter: Meter = new Counted()): LuaValue {
  const steps = replyToLua(reply, protocol, meter);
  pauses = 0;
  for (;;) {
    const step = steps.next([]);
    if (step.done) return step.value;
    pauses++;
  }
}

/** A table as an object, so that it can be compared. */
function shown(value: LuaValue): unknown {
  if (!(value instanceof LuaTable)) return value;
  const pairs: [string, unknown][] = [];
  for (let pair = value.next(undefined); pair !== undefined; pair = value.next(pair[0])) {
    pairs.push([`${typeof pair[0] === 'object' ? 'table' : pair[0]}`, shown(pair[1])]);
  }
  return Object.fromEntries(pairs);
}

const pair = [bulk('a'), { kind: 'double', value: 1.5 }] as const;
const pile = new ReplyPile('map', 'less');
for (let at = 0; at < 1_000; at++) pile.add(bulk(`k${at}`), bulk(`${at}`));

test.each<readonly [string, Reply, unknown, unknown]>([
  ['bytes', bulk(Buffer.from([0xff, 0])), '\u00ff\u0000', '\u00ff\u0000'],
  ['an integer', integer(7n), 7, 7],
  ['nothing', NULL, false, undefined],
  ['no array', NULL_ARRAY, false, undefined],
  ['a status', OK, { ok: 'OK' }, { ok: 'OK' }],
  ['a boolean', { kind: 'boolean', value: false }, 0, false],
  ['a double', { kind: 'double', value: 1.5 }, '1.5', { double: 1.5 }],
  ['an endless one', { kind: 'double', value: -Infinity }, '-inf', { double: -Infinity }],
  ['a big number', { kind: 'bigNumber', value: 12n }, '12', { big_number: '12' }],
  [
    'a text',
    { kind: 'verbatim', format: 'txt', text: 'x' },
    'x',
    { verbatim_string: { format: 'txt', string: 'x' } },
  ],
  [
    'an array',
    array([NULL, integer(1), OK]),
    { 1: false, 2: 1, 3: { ok: 'OK' } },
    { 2: 1, 3: { ok: 'OK' } },
  ],
  ['a map', { kind: 'map', pairs: [pair] }, { 1: 'a', 2: '1.5' }, { map: { a: { double: 1.5 } } }],
  [
    'pairs',
    { kind: 'pairs', pairs: [pair] },
    { 1: 'a', 2: '1.5' },
    { 1: { 1: 'a', 2: { double: 1.5 } } },
  ],
  ['a set', { kind: 'set', items: [bulk('a')] }, { 1: 'a' }, { set: { a: true } }],
  [
    'an error',
    error('WRONGTYPE ä'),
    { err: 'WRONGTYPE \u00c3\u00a4', ignore_error_stats_update: true },
    { err: 'WRONGTYPE \u00c3\u00a4', ignore_error_stats_update: true },
  ],
  [
    'one of a transaction, kept',
    {
      kind: 'kept',
      resp2: Buffer.from('*1\r\n$1\r\na\r\n'),
      resp3: Buffer.from('~1\r\n$1\r\na\r\n'),
    },
    { 1: 'a' },
    { set: { a: true } },
  ],
])('by RESP2 and RESP3: %s', (_, reply, resp2, resp3) => {
  expect([shown(run(reply, 2)), shown(run(reply, 3))]).toEqual([resp2, resp3]);
});

test('what is packed is read from its bytes', () => {
  const flat = run(pile.reply(), 2) as LuaTable;
  expect([flat.length, flat.get(1), flat.get(2_000)]).toEqual([2_000, 'k0', '999']);
  const map = (run(pile.reply(), 3) as LuaTable).get('map') as LuaTable;
  expect([map.get('k0'), map.get('k999'), map.get('k1000')]).toEqual(['0', '999', undefined]);
});

test.each([
  ['an array', pile.reply(), 2],
  ['a map', pile.reply(), 3],
  ['a set', { kind: 'set', items: Array.from({ length: 1_000 }, (_, at) => integer(at)) }, 3],
] as const)('others have their turns while %s is read', (_, reply, protocol) => {
  run(reply, protocol);
  expect(pauses).toBeGreaterThan(100);
});

test('what a script is given counts as what it makes', () => {
  const meter = new Counted();
  run(bulk('x'.repeat(1_000)), 2, meter);
  expect(meter.count).toBe(1_000);
  expect(() => run(bulk('x'.repeat(1_000)), 2, meter)).not.toThrow();
  expect(() => run(pile.reply(), 2, new Counted(30_000))).toThrow(ScriptLimitError);
});
