/**
 * Programs in Lua that mean harm: hostile values go through every library, through metatables that come back
 * to themselves, coroutines, errors that are objects, texts that are compiled, and into replies.
 */
import fc from 'fast-check';

const name = fc.constantFrom('a', 'b', 'c', 'd');

/** Values that are at an end of something. */
const value = fc.constantFrom(
  ...[
    'nil',
    'true',
    'false',
    '0',
    '-0',
    '1',
    '-1',
    '0.5',
    '2^31',
    '-2^31',
    '2^53',
    '1e308',
    '-1e308',
  ],
  ...[
    '1/0',
    '-1/0',
    '0/0',
    '""',
    '"x"',
    '"%"',
    '"%b"',
    '"%f[a"',
    '"[%"',
    '"(()"',
    '".-b"',
    '"%1"',
    '" 0x1p4 "',
  ],
  ...[
    'string.rep("a", 3000)',
    'string.rep("(", 300)',
    'string.rep("\\0\\255", 99)',
    'string.rep(".-", 60)',
  ],
  ...[
    '{}',
    '{1, 2, nil, 4}',
    '{[1e9] = 1}',
    '{[-1] = {}, x = {y = {}}}',
    'deep',
    'cycle',
    'evil',
    'KEYS',
    '_G',
  ],
  ...['print', 'tostring', 'pcall', 'function(...) return ... end', 'function() error({}) end'],
  ...[
    'coroutine.create(function(...) coroutine.yield(...) end)',
    'cjson.null',
    'redis.error_reply("E x")',
  ],
);

const called = fc.constantFrom(
  ...[
    'string.rep',
    'string.format',
    'string.gsub',
    'string.find',
    'string.match',
    'string.gmatch',
    'string.byte',
  ],
  ...[
    'string.char',
    'string.sub',
    'string.reverse',
    'string.lower',
    'string.len',
    'table.concat',
    'table.insert',
  ],
  ...[
    'table.remove',
    'table.sort',
    'table.maxn',
    'table.foreach',
    'table.foreachi',
    'unpack',
    'select',
    'next',
  ],
  ...[
    'pairs',
    'ipairs',
    'tostring',
    'tonumber',
    'type',
    'rawget',
    'rawset',
    'rawequal',
    'setmetatable',
    'error',
  ],
  ...[
    'getmetatable',
    'assert',
    'pcall',
    'xpcall',
    'loadstring',
    'load',
    'coroutine.create',
    'coroutine.resume',
  ],
  ...[
    'coroutine.wrap',
    'coroutine.yield',
    'coroutine.status',
    'math.random',
    'math.max',
    'math.fmod',
    'math.pow',
  ],
  ...[
    'math.ldexp',
    'math.frexp',
    'math.modf',
    'bit.lshift',
    'bit.rol',
    'bit.tohex',
    'bit.bswap',
    'bit.arshift',
  ],
  ...[
    'struct.pack',
    'struct.unpack',
    'struct.size',
    'cjson.encode',
    'cjson.decode',
    'cmsgpack.pack',
  ],
  ...['cmsgpack.unpack', 'cmsgpack.unpack_one', 'cmsgpack.unpack_limit', 'cjson.encode_max_depth'],
  ...['cjson.encode_sparse_array', 'cjson.encode_number_precision', 'cjson.decode_invalid_numbers'],
  ...[
    'redis.call',
    'redis.pcall',
    'redis.error_reply',
    'redis.status_reply',
    'redis.sha1hex',
    'redis.setresp',
  ],
  ...['redis.log', 'redis.acl_check_cmd', 'redis.set_repl', 'collectgarbage', 'evil', 'cycle', 'f'],
);

const command = fc.constantFrom(
  '"get"',
  '"set"',
  '"lpush"',
  '"hset"',
  '"hgetall"',
  '"eval"',
  '"exec"',
  '"zadd"',
);
const operator = fc.constantFrom(...'+ - * / % ^ .. == ~= < <= > >= and or'.split(' '));

const { expression, statement } = fc.letrec<{ expression: string; statement: string }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'e' },
    { weight: 3, arbitrary: value },
    name,
    fc
      .tuple(called, fc.array(tie('expression'), { maxLength: 4 }))
      .map(([f, e]) => `${f}(${e.join(', ')})`),
    fc
      .tuple(command, fc.array(tie('expression'), { maxLength: 3 }))
      .map(([c, e]) => `redis.pcall(${[c, '"k"', ...e].join(', ')})`),
    fc.tuple(tie('expression'), operator, tie('expression')).map((of) => `(${of.join(' ')})`),
    fc.tuple(fc.constantFrom('-', 'not ', '#'), tie('expression')).map(([o, e]) => `(${o}${e})`),
    fc.tuple(tie('expression'), tie('expression')).map(([x, y]) => `(${x})[${y}]`),
    fc.tuple(tie('expression'), tie('expression')).map(([x, y]) => `{${x}, k = ${y}, [${y}] = 1}`),
    tie('expression').map((e) => `(select(2, pcall(function(...) return ${e} end, 1)))`),
    tie('expression').map(
      (e) => `setmetatable({}, {__index = ${e}, __call = ${e}, __concat = ${e}, __lt = ${e}})`,
    ),
    tie('expression').map(
      (e) => `coroutine.wrap(function() return pcall(coroutine.yield, ${e}) end)()`,
    ),
  ),
  statement: fc.oneof(
    { maxDepth: 3, depthIdentifier: 's' },
    fc.tuple(name, tie('expression')).map(([n, e]) => `${n} = ${e}`),
    fc.tuple(name, tie('expression')).map(([n, e]) => `pcall(function() ${n} = ${e} end)`),
    fc
      .tuple(name, tie('expression'), tie('expression'))
      .map(([n, k, e]) => `pcall(rawset, ${n}, ${k}, ${e})`),
    fc.tuple(tie('expression'), tie('statement')).map(([e, s]) => `for i = 1, ${e} do ${s} end`),
    fc.tuple(tie('expression'), tie('statement')).map(([e, s]) => `while ${e} do ${s} end`),
    fc
      .tuple(tie('expression'), tie('statement'))
      .map(([e, s]) => `pcall(function() for k, v in pairs(${e}) do ${s} end end)`),
    fc.tuple(tie('statement'), tie('statement')).map(([x, y]) => `${x} ${y}`),
  ),
}));

/** Much of one thing: what is compiled has to come to an end as well. */
const long = fc
  .tuple(
    fc.constantFrom(
      ...[
        '(',
        '{',
        '-',
        'not ',
        'f(',
        'if a then ',
        'do ',
        'function() ',
        '1^',
        'a..',
        'a and ',
        'a.b.',
      ],
      ...[
        'local x ',
        'x = 1.5 ',
        'x = "y" ',
        'return ',
        '[[',
        '--[[',
        '"\\',
        'x,',
        'repeat ',
        'f{',
        'a[',
        'elseif ',
      ],
    ),
    fc.constantFrom(10, 199, 201, 300, 5_000),
    fc.constantFrom('', '1', ')', 'end', 'x = 1', 'local y = 1', '\0'),
  )
  .map(([piece, count, end]) => `return ${piece.repeat(count)}${end}`);

const HEAD = `local a, b, c, d = 1, 'x', {}, nil
local deep, cycle = {}, {} cycle[1] = cycle cycle.map = cycle
for i = 1, 300 do deep = {deep, x = deep} end
local evil = {} setmetatable(evil, {__index = evil, __call = evil, __concat = function(x, y) return x .. y end,
  __lt = function(x, y) return x < y end, __eq = function(x, y) return x == y end, __tostring = tostring,
  __add = function(x, y) return x + y end, __unm = function(x) return -x end, __newindex = function(t, k, v) t[k] = v end})
local function f(...) return f(..., 1) + 1 end
`;

const program = fc
  .tuple(fc.array(statement, { minLength: 1, maxLength: 6 }), expression, fc.constantFrom(2, 3))
  .map(
    ([lines, result, protocol]) =>
      `${HEAD}redis.setresp(${protocol})\n${lines.map((line) => `pcall(function() ${line} end)`).join('\n')}\nreturn {a, c, d, pcall(function() return ${result} end)}`,
  );

export const hostileProgram = fc.oneof({ weight: 9, arbitrary: program }, long);
