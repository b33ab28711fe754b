/** Random calls of the libraries: strings, patterns, tables, numbers, bits, JSON, MessagePack, structs. */
import fc from 'fast-check';
import { type Lua, list, lua, oneOf, pick, quote } from './template.ts';

const word = pick(
  [
    5,
    oneOf(
      ...['hello world', '  key = value; x=1', 'aaa', 'a.b-c', '(nested (brackets))'].map(quote),
    ),
  ],
  [2, oneOf("''", "'THE (quick) fox'", "'\\0a\\0b'", "'1,2,,3'", "'x1y22z333'", "'é\\255'")],
  [1, fc.string({ maxLength: 8, unit: 'binary-ascii' }).map(quote)],
);
const small = oneOf(
  '1',
  '2',
  '3',
  '0',
  '-1',
  '-2',
  '5',
  '100',
  '1.7',
  "'2'",
  '-100',
  '2^31',
  '-2^40',
);
const wide = oneOf(
  ...[
    '0',
    '1',
    '-1',
    '255',
    '256',
    '65535',
    '-32768',
    '2^31',
    '2^32',
    '-2^31',
    '2^40',
    '3.7',
    '-3.5',
  ],
  ...[
    '0.1',
    '1e15',
    '1e16',
    '2^53',
    '1e100',
    '-1e-7',
    '1/3',
    '123456.789',
    '1/0',
    '-1/0',
    "'0x1f'",
  ],
);
const odd = oneOf('nil', 'true', '{}', "'x'", '1', 'f', "'10'", '');
/** Arguments, of which one now and then is of the wrong type or missing. */
function args(...parts: readonly Lua[]): Lua {
  const right = fc.tuple(...parts);
  const wrong = fc
    .tuple(right, fc.nat({ max: parts.length - 1 }), odd)
    .map(([values, at, value]) =>
      value === '' ? values.slice(0, at) : values.map((one, index) => (index === at ? value : one)),
    );
  return fc
    .oneof({ weight: 9, arbitrary: right }, { weight: 1, arbitrary: wrong })
    .map((values) => values.filter((value) => value !== '').join(', '));
}
const maybe = (one: Lua): Lua => pick([1, oneOf('')], [1, one]);

const patternItem = pick(
  [6, oneOf('a', '.', '%a', '%d', '%s', '%w', '[a-z]', '[^ ]', '%(', '%.', 'l', '[%w_]', '=', ',')],
  [2, oneOf('%u', '%p', '%x', '%c', '%l', '[]]', '[^]a]', '[a-]', '[%-x]', '%z', '%S', '[%a-z]')],
  [
    1,
    oneOf('%b()', '%f[%w]', '%f[%z]', '%1', '%', '[', '[a', '(', ')', '%b', '%f', '^', '$', '%2'),
  ],
);
const repeated = lua`${patternItem}${oneOf('', '', '', '*', '+', '-', '?')}`;
const several = (item: Lua) =>
  fc.array(item, { minLength: 0, maxLength: 4 }).map((all) => all.join(''));
const pattern = fc
  .tuple(
    oneOf('', '', '', '^'),
    several(pick([4, repeated], [1, lua`(${several(repeated)})`], [1, oneOf('()')])),
    oneOf('', '', '', '$'),
  )
  .map((parts) => quote(parts.join('')));
const replacement = pick(
  [4, oneOf("'<%0>'", "'%1'", "'%2-%1'", "'x'", "'%%'", "''", "'%'", "'%9'", '"%1%1"')],
  [1, oneOf('{a = 1, hello = "H", l = false}', 'string.upper', '{}')],
  [1, oneOf('function(a, b) return b or a end', 'function(a) return {} end', 'function() end')],
);
const strings: Lua = pick(
  [3, lua`string.find(${args(word, pattern, maybe(small), maybe(oneOf('true', 'false', '1')))})`],
  [3, lua`string.match(${args(word, pattern, maybe(small))})`],
  [4, lua`string.gsub(${args(word, pattern, replacement, maybe(small))})`],
  [
    2,
    lua`(function(...) local r = {} for a, b in string.gmatch(${args(word, pattern)}) do r[#r + 1] = a r[#r + 1] = b or 'none' if #r > 40 then break end end return r end)()`,
  ],
  [2, lua`string.sub(${args(word, small, maybe(small))})`],
  [1, lua`string.byte(${args(word, maybe(small), maybe(small))})`],
  [1, lua`string.char(${list(oneOf('65', '0', '255', '256', '-1', "'66'", '97.5', 'nil'), 0, 3)})`],
  [1, lua`string.rep(${args(word, oneOf('0', '1', '3', '-1', '2.9', "'2'"))})`],
  [1, lua`string.${oneOf('len', 'lower', 'upper', 'reverse')}(${args(word)})`],
  [1, lua`(${word}):${oneOf('len', 'upper', 'rep', 'sub', 'find', 'nothing')}(${args(small)})`],
  [1, lua`string.gfind(${word}, ${pattern})`],
);

const flags = oneOf(
  '',
  '',
  '',
  '-',
  '0',
  '+',
  ' ',
  '#',
  '-+',
  '05',
  '-08',
  '+.2',
  '10.3',
  '.0',
  '20.15',
);
const conversion = lua`%${flags}${oneOf(...'dixXucoeEfgGs'.split(''))}`;
const format = pick(
  [8, conversion.map((text) => quote(`[${text}]`))],
  [
    1,
    oneOf("'%d %s'", "'%5q'", "'%q'", "'%%'", "'%y'", "'%'", "'%123d'", "'%.123f'", "'%10.20.3f'"),
  ],
  [1, oneOf("'%-5%'", "'%5.1s|'", "'%.0s'", "'%ld'", "'%#x'", "'%c%c'", "'%s'", "'%-+ #05d'")],
);
const formats: Lua = pick(
  [4, lua`string.format(${format}, ${args(wide)})`],
  [1, lua`string.format(${format}, ${args(word)})`],
  [1, lua`string.format(${format}, ${args(wide)}, ${args(word)})`],
  [1, lua`tostring(${wide})`],
  [1, lua`${wide} .. ''`],
  [2, lua`tonumber(${numeral()}${maybe(oneOf(', 10', ', 16', ', 2', ', 36', ', 0', ', 1.5'))})`],
);

function numeral(): Lua {
  const parts = oneOf(
    '0',
    '1',
    '9',
    'x',
    '.',
    'e',
    '-',
    '+',
    ' ',
    'f',
    'inf',
    'nan',
    'p',
    'z',
    '\\n',
  );
  return pick(
    [2, several(parts).map((text) => `'${text}'`)],
    [
      1,
      oneOf(
        "'0x10'",
        "'1e5'",
        "' 12 '",
        "'1 2'",
        "'-0x1p4'",
        "'infinity'",
        "'1e400'",
        "'7fffffff'",
      ),
    ],
  );
}

const item = pick(
  [3, oneOf('1', '5', '3', '-2', '2.5', '1e3')],
  [2, oneOf("'a'", "'b'", "'10'", "''")],
);
const items = pick(
  [4, lua`{${list(oneOf('1', '5', '3', '-2', '2.5', '5', '8'), 0, 9)}}`],
  [2, lua`{${list(oneOf("'a'", "'bb'", "'B'", "''", "'a\\0'", "'10'", "'9'"), 0, 7)}}`],
  [1, lua`{${list(item, 0, 5)}}`],
);
const comparator = pick(
  [3, oneOf('function(a, b) return a > b end', 'function(a, b) return a < b end')],
  [1, oneOf('function(a, b) return tostring(a) < tostring(b) end', 'function() return true end')],
  [1, oneOf('function() end', 'function() error("no", 0) end', 'nil', "'x'")],
);
const tables: Lua = pick(
  [3, lua`(function(...) local t = ${items} table.sort(t, ${comparator}) return t end)()`],
  [2, lua`(function(...) local t = ${items} table.sort(t) return t end)()`],
  [2, lua`table.concat(${args(items, maybe(word), maybe(small), maybe(small))})`],
  [
    2,
    lua`(function(...) local t = ${items} return table.remove(${args(fc.constant('t'), maybe(place()))}), t end)()`,
  ],
  [
    2,
    lua`(function(...) local t = ${items} table.insert(${args(fc.constant('t'), maybe(place()), item)}) return t end)()`,
  ],
  [
    1,
    lua`(function(...) local r = {} ${oneOf('table.foreach', 'table.foreachi')}(${args(items, oneOf('function(k, v) r[#r + 1] = v end', 'function(k, v) if k == 2 then return v end end'))}) return r end)()`,
  ],
  [1, lua`table.${oneOf('getn', 'maxn')}(${args(items)})`],
  [1, lua`unpack(${args(items, maybe(oneOf('1', '2', '-1')), maybe(oneOf('1', '4', '0')))})`],
  [1, lua`select(${args(oneOf('1', '2', '-1', "'#'", '0', '-5', '1.9'), item, item)})`],
  [1, lua`next(${args(items, maybe(oneOf('1', 'nil', '99', "'x'")))})`],
);
function place(): Lua {
  return oneOf('1', '2', '1', "'1'", '1.5');
}

const maths: Lua = pick(
  [
    3,
    lua`math.${oneOf('floor', 'ceil', 'abs', 'sqrt', 'modf', 'frexp', 'deg', 'rad')}(${args(wide)})`,
  ],
  [2, lua`math.${oneOf('max', 'min')}(${list(wide, 0, 4)})`],
  [
    2,
    lua`math.${oneOf('fmod', 'mod', 'pow', 'ldexp')}(${args(wide, oneOf('1', '2', '-3', '0', '10'))})`,
  ],
  [
    1,
    lua`string.format('%.10g', math.${oneOf('sin', 'cos', 'exp', 'log', 'log10', 'atan', 'tanh')}(${args(oneOf('0', '1', '0.5', '-2', '10', '3.7'))}))`,
  ],
  [
    3,
    lua`math.random(${pick([1, oneOf('')], [3, args(oneOf('1', '6', '100', '0', '2^31', '-3', '1.5'))], [2, args(oneOf('1', '-5', '0'), oneOf('1', '10', '-6', '2^40'))])})`,
  ],
  [
    1,
    lua`(function(...) math.randomseed(${args(oneOf('1', '42', '-1', '1.5', '2^33'))}) return math.random(), math.random(10) end)()`,
  ],
  [2, lua`${wide} ${oneOf('%', '/', '*', '-', '+')} ${wide}`],
);
const bits: Lua = pick(
  [4, lua`bit.${oneOf('band', 'bor', 'bxor')}(${list(wide, 1, 3)})`],
  [
    4,
    lua`bit.${oneOf('lshift', 'rshift', 'arshift', 'rol', 'ror')}(${args(wide, oneOf('0', '1', '8', '31', '32', '33', '-1'))})`,
  ],
  [2, lua`bit.${oneOf('bnot', 'bswap', 'tobit')}(${args(wide)})`],
  [2, lua`bit.tohex(${args(wide, maybe(oneOf('4', '-8', '8', '1', '0', '12', '-2')))})`],
);

const jsonWord = oneOf(
  ...[
    '\'{"a":[1,2,{"b":null}],"c":"x"}\'',
    "'[]'",
    "'{}'",
    "'[1,2.5,-3e2,true,false,null]'",
    '\'"x"\'',
  ],
  ...[
    "'[1,]'",
    "'{a:1}'",
    "''",
    "'[1 2]'",
    '\'"\\\\u00e9\\\\n\\\\/"\'',
    '\'"\\\\ud83d\\\\ude00"\'',
    '\'"\\\\ud83d"\'',
  ],
  ...[
    "'[1e400]'",
    "'[01]'",
    "'[0x10]'",
    "'[nan]'",
    "'[Infinity]'",
    "'tru'",
    '\'{"a":1,"a":2}\'',
    "' [1] '",
  ],
  ...[
    "'[1]x'",
    '\'{"1":2}\'',
    "'[[[[1]]]]'",
    "'12'",
    '\'"\\\\x"\'',
    '\'"a\\1b"\'',
    "'-'",
    "'[1.]'",
    '\'{"a"}\'',
  ],
);
const jsonLeaf = pick(
  [
    3,
    oneOf(
      '1',
      '2.5',
      '-0',
      '1e15',
      '1e16',
      '0.1',
      '1/3',
      '2^53',
      '1e300',
      '1/0',
      '0/0',
      '100000000000000',
    ),
  ],
  [3, oneOf("'x'", "'é\"\\\\/\\n\\0\\31\\127'", "''", 'true', 'false', 'cjson.null', "'</a>'")],
  [1, oneOf('f', '{}', '{{}}')],
);
function nested(inner: Lua): Lua {
  return pick(
    [3, inner],
    [3, lua`{${list(inner, 0, 4)}}`],
    [1, lua`{k = ${inner}}`],
    [1, lua`{[${oneOf('1', '3', '2.5', '20', '-1', 'true', '0')}] = ${inner}}`],
  );
}
const tree = nested(nested(nested(jsonLeaf)));
const json: Lua = pick(
  [4, lua`cjson.encode(${args(tree)})`],
  [4, lua`cjson.decode(${args(jsonWord)})`],
  [2, lua`cjson.decode(cjson.encode(${tree}))`],
  [1, lua`(function(...) cjson.encode_${settings()} return cjson.encode(${tree}) end)()`],
  [
    1,
    lua`(function(...) cjson.decode_${oneOf('max_depth(3)', 'invalid_numbers(false)', 'max_depth(0)')} return cjson.decode(${jsonWord}) end)()`,
  ],
);
function settings(): Lua {
  return oneOf(
    ...[
      'max_depth(2)',
      'max_depth(0)',
      'number_precision(3)',
      'number_precision(17)',
      'keep_buffer(false)',
    ],
    ...[
      'sparse_array(true)',
      'sparse_array(true, 1, 2)',
      'sparse_array(false, 2, 3)',
      'sparse_array(1)',
    ],
    ...[
      'invalid_numbers(true)',
      'invalid_numbers("null")',
      'invalid_numbers(false)',
      'number_precision(99)',
    ],
  );
}

const packable = nested(
  nested(pick([3, wide], [2, word], [1, oneOf('nil', 'true', 'false', 'f')])),
);
const messages: Lua = pick(
  [4, lua`cmsgpack.pack(${list(packable, 0, 3)})`],
  [3, lua`cmsgpack.unpack(cmsgpack.pack(${list(packable, 1, 3)}))`],
  [1, lua`cmsgpack.unpack(${args(bytes())})`],
  [
    1,
    lua`cmsgpack.unpack_one(${args(lua`cmsgpack.pack(${list(packable, 1, 3)})`, maybe(oneOf('0', '1', '99', '-1')))})`,
  ],
  [
    1,
    lua`cmsgpack.unpack_limit(${args(lua`cmsgpack.pack(${list(packable, 1, 3)})`, oneOf('1', '2', '0', '-1'), maybe(oneOf('0', '1', '-1')))})`,
  ],
);
function bytes(): Lua {
  return fc
    .array(
      fc.constantFrom(
        '\x93',
        '\x82',
        '\xa2',
        'a',
        '\x01',
        '\xcb',
        '\xcd',
        '\xff',
        '\xc0',
        '\xda',
        '\0',
      ),
      { maxLength: 8 },
    )
    .map((all) => quote(all.join('')));
}

const structItem = oneOf(
  ...['b', 'B', 'h', 'H', 'i', 'I', 'l', 'L', 'i3', 'I8', 'f', 'd', 's', 'c0', 'c2', 'x'],
  ...['>', '<', '=', '!', '!4', ' ', 'T', 'i9', 'c', 'i0', 'q', '!3'],
);
const structFormat = several(structItem).map(quote);
const structs: Lua = pick(
  [
    4,
    lua`struct.pack(${structFormat}, ${list(pick([3, wide], [1, word]), 0, 4)})`.map((text) =>
      text.replace(', )', ')'),
    ),
  ],
  [3, lua`struct.unpack(${args(structFormat, bytes(), maybe(oneOf('1', '2', '0', '99')))})`],
  [1, lua`struct.size(${args(structFormat)})`],
  [
    2,
    lua`(function(...) local p = ${oneOf("'>I2c3'", "'<i4d'", "'bhil'", "'>I8s'", "'!8bd'")} return struct.unpack(p, struct.pack(p, ${args(wide, pick([1, wide], [1, word]), wide, wide)})) end)()`,
  ],
);

/**
 * In Redis, settings of cjson outlive a run, and so do random numbers. Libraries get `f`, too, as what they
 * do not expect.
 */
export const FRESH = `local f = function() end math.randomseed(1)
cjson.encode_max_depth(1000) cjson.decode_max_depth(1000) cjson.encode_number_precision(14)
cjson.encode_sparse_array(false, 2, 10) cjson.encode_invalid_numbers(false)
cjson.decode_invalid_numbers(true) cjson.encode_keep_buffer(true)`;

export const libraries: Readonly<Record<string, Lua>> = {
  strings,
  formats,
  tables,
  maths,
  bits,
  json,
  messages,
  structs,
};

/** What the call comes to is noted, as a call in a function of its own, by a value, and bare. */
export function noted(call: Lua): Lua {
  return pick(
    [8, lua`out(pcall(function(...) return ${call} end))`],
    [1, lua`out(pcall(function(...) local v = ${call} return v end))`],
    [1, lua`out((${call}))`],
  );
}
