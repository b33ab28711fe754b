/** Random expressions over variables that are always there: mostly of the types they are to be. */
import fc from 'fast-check';
import { type Lua, list, lua, oneOf, pick, quote } from './template.ts';

/** Declared by every program of `statements.ts`; functions of it have `x`, `y` and `...` besides. */
export const VARIABLES = ['n', 'm', 's', 'w', 't', 'u', 'f', 'g', 'x', 'y'] as const;

/** `zero` is a variable: Lua takes -0 and 0 for one constant, so that one of them becomes the other. */
const numeral = oneOf(
  ...['zero', '1', '2', '3', '7', '10', '-1', '-3', '0.5', '-2.25', '1e15', '123456789012345'],
  ...['2147483648', '4294967296', '9007199254740993', '1e300', '0.1', '1/3', '0x10', '0xffffffff'],
  ...['3e-5', '.5', '5.', '1E2', '(zero/zero)', '(1/zero)', '-(1/zero)', '-zero'],
);
const STRINGS = [
  '',
  'a',
  'abc',
  'b',
  'Zz',
  '10',
  ' 7 ',
  '0x1F',
  '1e2',
  '-5',
  '1 2',
  '.5',
  'a\xffb',
];
export const stringLiteral = pick(
  [6, fc.constantFrom(...STRINGS).map(quote)],
  [1, fc.string({ maxLength: 6, unit: 'binary-ascii' }).map(quote)],
  [1, oneOf('"q\\"\\n"', '[[long]]', '[==[\nlong ]] too]==]', "'\\065\\10x'", '"é"')],
);
const key = oneOf('a', 'b', 'k', 'z');
const arithmetic = oneOf('+', '-', '*', '/', '%', '+', '-', '*');
/** Of others the last digit is each machine's own. */
const exponent = oneOf('2', '3', '-1', '0.5', '10', '"2"', 'zero');
const comparison = oneOf('<', '<=', '>', '>=', '==', '~=');

interface Level {
  readonly number: Lua;
  readonly string: Lua;
  readonly table: Lua;
  readonly callee: Lua;
  readonly boolean: Lua;
  readonly any: Lua;
}

/** Now and then a value of another type: most errors are found so. */
const mostly = (right: Lua, other: Lua): Lua => pick([14, right], [1, other]);

const leaves: Level = (() => {
  const number = pick([5, numeral], [5, oneOf('n', 'm')], [1, oneOf('x', 'y', 't.n', '#s', '#t')]);
  const string = pick([4, stringLiteral], [4, oneOf('s', 'w')], [1, oneOf('x', 'u.s')]);
  const table = oneOf('t', 'u', 't', 'u', '{}', 'x', '{1, 2, 3}', '{n = 1, s = "f"}', 't.t');
  const callee = oneOf('f', 'g', 'f', 'g', 'x', 't.f', 'u.f');
  const boolean = oneOf('true', 'false', 'nil', 'x', 'n == m', 's < w');
  const odd = oneOf('nil', 'true', 'missing', 't.z', 'u.a.b', 'n.k', '(...)', 'y', 't[1]', 'u[2]');
  const any = pick([3, number], [3, string], [2, table], [1, callee], [1, boolean], [2, odd]);
  return { number, string, table, callee, boolean, any };
})();

function above(inner: Level): Level {
  const number = mostly(inner.number, inner.any);
  const string = mostly(inner.string, inner.any);
  const table = mostly(inner.table, inner.any);
  const args = list(inner.any, 0, 3);
  const call = pick(
    [4, lua`${mostly(inner.callee, inner.any).map(callable)}(${args})`],
    [1, lua`${mostly(inner.table, inner.any).map(callable)}:${oneOf('f', 'f', 'z')}(${args})`],
  );
  const either = (one: Lua) => lua`(${inner.boolean} and ${one} or ${one})`;
  const field = lua`${mostly(inner.table, inner.any).map(callable)}.${key}`;
  const item = lua`${mostly(inner.table, inner.any).map(callable)}[${inner.any}]`;
  const conversion = pick(
    [2, lua`tonumber(${inner.string})`],
    [1, lua`tonumber(${inner.string}, ${oneOf('2', '8', '10', '16', '36', '1', '37')})`],
    [1, lua`select('#'${args.map((text) => (text === '' ? '' : `, ${text}`))})`],
  );
  return {
    number: pick(
      [4, inner.number],
      [6, lua`(${number} ${arithmetic} ${number})`],
      [1, lua`(${number} ^ ${exponent})`],
      [1, lua`-(${number})`],
      [2, lua`#${pick([1, string], [1, table]).map(callable)}`],
      [1, either(inner.number)],
      [1, conversion],
      [1, lua`(${string} ${arithmetic} ${number})`],
    ),
    string: pick(
      [4, inner.string],
      [5, lua`(${mostly(pick([3, inner.string], [1, inner.number]), inner.any)} .. ${string})`],
      [1, lua`(${string} .. ${number} .. ${string})`],
      [1, lua`type(${inner.any})`],
      [1, lua`(${inner.string}):${oneOf('upper', 'reverse', 'lower')}()`],
      [1, either(inner.string)],
    ),
    table: pick([6, inner.table], [3, constructorOf(inner, call)], [1, either(inner.table)]),
    callee: pick([5, inner.callee], [1, lua`function(x, ...) return fuel() and ${inner.any} end`]),
    boolean: pick(
      [2, inner.boolean],
      [3, lua`(${number} ${comparison} ${number})`],
      [2, lua`(${string} ${comparison} ${string})`],
      [1, lua`(${inner.any} ${comparison} ${inner.any})`],
      [1, lua`not ${inner.any}`],
      [1, lua`(${inner.any} ${oneOf('and', 'or')} ${inner.any})`],
      [1, lua`rawequal(${inner.any}, ${inner.any})`],
    ),
    any: pick(
      [4, inner.number],
      [4, inner.string],
      [2, inner.table],
      [1, inner.boolean],
      [1, inner.callee],
      [4, call],
      [2, field],
      [1, item],
      [1, lua`(${call})`],
      [1, inner.any],
    ),
  };
}

/** What is no name has to be in brackets to be called or indexed. */
function callable(text: string): string {
  return /^(?!true|false|nil)[a-z.]+$/.test(text) ? text : `(${text})`;
}

/** Without gaps: how long a table with gaps is, is Lua's to choose. */
function constructorOf(inner: Level, call: Lua): Lua {
  const filled = pick([2, inner.number], [2, inner.string], [1, inner.table]);
  const entry = pick(
    [4, filled.map((text) => `(${text} or 0)`)],
    [2, lua`${key} = ${inner.any}`],
    [1, lua`[${inner.string}] = ${inner.any}`],
  );
  return pick(
    [5, lua`{${list(entry, 0, 4)}}`],
    [1, lua`{${list(entry, 1, 3)}; n = (${call})}`],
    [1, lua`setmetatable({${list(entry, 0, 2)}}, {__index = ${inner.any}})`],
  );
}

const first = above(leaves);
const second = above(first);
export const expressions = above(second);
/** Shorter ones, for places that there are many of. */
export const short = second;
