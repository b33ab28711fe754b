/** What a table of calls does not show: callbacks, limits, what lasts for a run, round trips. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { searchPlain } from '../../../../src/datanode/lua/library/plain-search.ts';
import { LuaError, ScriptLimitError } from '../../../../src/datanode/lua/values/error.ts';
import { native } from '../../../../src/datanode/lua/values/function.ts';
import { LuaTable } from '../../../../src/datanode/lua/values/table.ts';
import type { LuaValue } from '../../../../src/datanode/lua/values/value.ts';
import { type Argument, CountingMeter, luaValueOf, run, show } from './showing.ts';

const called = native('called', () => []);

class LimitedMeter extends CountingMeter {
  override steps(count: number): void {
    super.steps(count);
    if (this.stepsDone > 100_000) throw new ScriptLimitError('steps');
  }

  override bytes(count: number): void {
    super.bytes(count);
    if (this.bytesDone > 1_000_000) throw new ScriptLimitError('bytes');
  }
}

function listOf(table: LuaValue): LuaValue[] {
  if (!(table instanceof LuaTable)) throw new Error('no table');
  return Array.from({ length: table.length }, (_, at) => table.get(at + 1));
}

describe('functions of the script', () => {
  test('gsub puts in what they answer, and leaves what they do not', () => {
    const asked: (readonly LuaValue[])[] = [];
    const results = run('string.gsub', ['a1b2', '(%a)(%d)', called], undefined, (args) => {
      asked.push(args);
      return args[0] === 'a' ? [7.5] : [false];
    });
    expect(results).toEqual(['7.5b2', 2]);
    expect(asked).toEqual([
      ['a', '1'],
      ['b', '2'],
    ]);
    const bad = () => run('string.gsub', ['a', 'a', called], undefined, () => [new LuaTable()]);
    expect(bad).toThrow('invalid replacement value (a table)');
  });

  test('gsub asks __index', () => {
    const table = new LuaTable();
    table.metatable = luaValueOf({ pairs: [['__index', { pairs: [['a', 'X']] }]] }) as LuaTable;
    expect(run('string.gsub', ['abc', '%w', table])).toEqual(['Xbc', 3]);
  });

  test('sort asks which comes first', () => {
    const table = luaValueOf([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]);
    const down = ([a, b]: readonly LuaValue[]) => [(a as number) > (b as number)];
    run('table.sort', [table, called], undefined, down);
    expect(listOf(table)).toEqual([9, 6, 5, 5, 5, 4, 3, 3, 2, 1, 1]);
  });

  test('sort goes on with an order that is none as long as Lua does', () => {
    const table = luaValueOf([19, 18, 12, 15, 11, 8, 11, 14, 13, 1, 14, 18, 3, 3, 9, 8]);
    let count = 0;
    const answer = ([a, b]: readonly LuaValue[]) => {
      count++;
      return [((a as number) * 7 + (b as number) * 13 + count) % 3 === 0];
    };
    run('table.sort', [table, called], undefined, answer);
    // As redis-server has left it.
    expect(listOf(table)).toEqual([19, 14, 3, 15, 13, 18, 18, 11, 14, 9, 11, 1, 8, 12, 3, 8]);
  });

  test('sort ends with an order that is none', () => {
    const table = luaValueOf([3, 2, 1, 4, 5, 6, 7]);
    const sort = () => run('table.sort', [table, called], undefined, () => [true]);
    expect(sort).toThrow('invalid order function for sorting');
  });

  test('foreach ends with the first answer', () => {
    const seen: LuaValue[] = [];
    const answer = (args: readonly LuaValue[]) => {
      seen.push(args[1]);
      return args[1] === 'b' ? ['found'] : [];
    };
    const args = [luaValueOf(['a', 'b', 'c']), called];
    expect(run('table.foreach', args, undefined, answer)).toEqual(['found']);
    expect(run('table.foreachi', args, undefined, answer)).toEqual(['found']);
    expect(seen).toEqual(['a', 'b', 'a', 'b']);
  });
});

test('gmatch goes from match to match, and behind an empty one', () => {
  const [next] = run('string.gmatch', ['ab c', '%a*']);
  if (typeof next !== 'object' || !('kind' in next) || next.kind !== 'native') throw new Error();
  const found: LuaValue[] = [];
  for (let at = 0; at < 6; at++)
    found.push(show((next.run([], new CountingMeter()) as LuaValue[])[0]));
  expect(found).toEqual(['"ab"', '""', '"c"', '""', 'nil', 'nil']);
});

describe('what would take too long or too much is refused before it is done', () => {
  const long = 'a'.repeat(50_000);
  test.each<[string, ...LuaValue[]]>([
    ['string.rep', 'x', 1e9],
    ['string.rep', long, 1e9],
    ['string.find', 'a'.repeat(30), `${'a?'.repeat(30)}${'a'.repeat(31)}`],
    ['string.find', long, '.-.-b'],
    ['string.find', long, '(a*)%1b'],
    ['string.gsub', long, '', 'x'.repeat(100)],
    ['string.format', '%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s', ...Array(21).fill(long)],
    ['table.insert', new LuaTable(), -1e9, 1],
    ['table.concat', luaValueOf([long, long, long]), 'x'.repeat(900_000)],
    ['cjson.encode', '\x01'.repeat(300_000)],
    ['cmsgpack.pack', ...Array(30).fill(long)],
    ['struct.pack', 's'.repeat(30), ...Array(30).fill(long)],
  ])('%s', (name, ...args) => {
    expect(() => run(name, args, new LimitedMeter())).toThrow(ScriptLimitError);
  });

  test('and so is a list that holds itself', () => {
    const list = new LuaTable();
    list.set(1, list);
    expect(() => run('cjson.encode', [list])).toThrow('excessive nesting (1001)');
    expect(run('cmsgpack.pack', [list])).toEqual([`${'\x91'.repeat(16)}\xc0`]);
  });
});

describe('what a script sets', () => {
  test('of cjson lasts for its run, and for the copy that it was set of', () => {
    const [one, other] = [new CountingMeter(), new CountingMeter()];
    run('cjson.encode_number_precision', [3], one);
    expect(run('cjson.encode', [1 / 3], one)).toEqual(['0.333']);
    expect(run('cjson.encode', [1 / 3], other)).toEqual(['0.33333333333333']);
    const [copy] = run('cjson.new', [], one);
    const encode = (copy as LuaTable).get('encode');
    if (typeof encode !== 'object' || !('run' in encode)) throw new Error();
    expect(encode.run([1 / 3], one)).toEqual(['0.33333333333333']);
  });

  test('of invalid numbers and sparse lists changes what is encoded', () => {
    const meter = new CountingMeter();
    const sparse = luaValueOf({ pairs: [[100, 'x']] });
    expect(() => run('cjson.encode', [sparse], meter)).toThrow('excessively sparse array');
    run('cjson.encode_sparse_array', [true], meter);
    expect(run('cjson.encode', [sparse], meter)).toEqual(['{"100":"x"}']);
    run('cjson.encode_invalid_numbers', [true], meter);
    expect(run('cjson.encode', [-Infinity], meter)).toEqual(['-inf']);
    run('cjson.encode_invalid_numbers', ['null'], meter);
    expect(run('cjson.encode', [Number.NaN], meter)).toEqual(['null']);
    run('cjson.decode_invalid_numbers', [false], meter);
    expect(() => run('cjson.decode', ['[0x10]'], meter)).toThrow('invalid number at character 2');
    run('cjson.decode_max_depth', [1], meter);
    expect(() => run('cjson.decode', ['[[]]'], meter)).toThrow(
      'Found too many nested data structures (2) at character 2',
    );
  });

  test('of math.random lasts for its run', () => {
    const [one, other] = [new CountingMeter(), new CountingMeter()];
    const first = run('math.random', [], one);
    expect(run('math.random', [], one)).not.toEqual(first);
    run('math.randomseed', [0], one);
    expect(run('math.random', [], one)).toEqual(first);
    expect(run('math.random', [], other)).toEqual(first);
  });
});

const scalar = fc.oneof(
  fc.boolean(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => Number(n.toPrecision(14)) + 0),
  fc.string({ unit: 'binary-ascii' }),
);
const { tree } = fc.letrec<{ tree: Argument }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    scalar,
    fc.array(tie('tree'), { minLength: 1, maxLength: 5 }),
    fc
      .dictionary(fc.string({ maxLength: 3 }), tie('tree'), {
        minKeys: 1,
        maxKeys: 4,
        noNullPrototype: true,
      })
      .map((object) => ({ pairs: Object.entries(object) })),
  ),
}));

test('what cjson and cmsgpack have made of a value they read back', () => {
  fc.assert(
    fc.property(tree, (argument) => {
      const value = luaValueOf(argument);
      expect(show(run('cjson.decode', run('cjson.encode', [value]))[0])).toBe(show(value));
      expect(show(run('cmsgpack.unpack', run('cmsgpack.pack', [value]))[0])).toBe(show(value));
    }),
  );
});

test('any bytes are a value or an error to both', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const data = Buffer.from(bytes).toString('latin1');
      for (const name of ['cjson.decode', 'cmsgpack.unpack']) {
        try {
          run(name, [data]);
        } catch (failure) {
          expect(failure).toBeInstanceOf(LuaError);
        }
      }
    }),
  );
});

test('a long piece is found where V8 finds it, in time', () => {
  const ab = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 33, maxLength: 40 });
  fc.assert(
    fc.property(
      ab,
      fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 200 }),
      fc.nat(20),
      (piece, text, start) => {
        for (const whole of [text, text + piece, text.slice(0, 30) + piece + text]) {
          if (start > whole.length) continue;
          const meter = new CountingMeter();
          expect(searchPlain(whole, piece, start, meter)).toBe(whole.indexOf(piece, start));
        }
      },
    ),
  );
});
