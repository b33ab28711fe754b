/** Numbers as they are read, added up and printed: 64-bit integers, doubles and long doubles. */
import fc from 'fast-check';
import { differential, exact, inOrder } from './differential.ts';
import { doubleWord, integerWord, words } from './words.ts';

const scores = inOrder('scores');
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
const edge = fc
  .tuple(
    fc.constantFrom(2n ** 31n, 2n ** 53n, 2n ** 63n, 10n ** 18n),
    fc.integer({ min: -2, max: 2 }),
  )
  .chain(([power, more]) => fc.constantFrom(power + BigInt(more), -power + BigInt(more)))
  .map(String);
const whole = fc.oneof(integerWord, int64, edge);

const digits = fc
  .array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 22 })
  .map((list) => list.join(''));
const sign = fc.constantFrom('', '', '-', '+');
const decimal = fc
  .tuple(sign, digits, fc.constantFrom('', '.'), digits)
  .map(([first, before, point, after]) => `${first}${before}${point}${point && after}`);
const exponent = fc.integer({ min: -30, max: 30 }).map((power) => `e${power}`);
const scientific = fc.tuple(decimal, exponent).map((parts) => parts.join(''));
const double = fc.double({ min: -1e17, max: 1e17, noNaN: true }).map(String);
const short = fc
  .tuple(fc.integer({ min: -99_999, max: 99_999 }), fc.integer({ min: 0, max: 9 }))
  .map(([number, places]) => String(number / 10 ** places));
const real = fc.oneof(
  { weight: 4, arbitrary: short },
  { weight: 2, arbitrary: double },
  { weight: 2, arbitrary: decimal },
  scientific,
  doubleWord,
  whole,
  fc.double().map(String),
  fc.constantFrom(
    '1e4932',
    '1e-4950',
    '5e-324',
    '2.2250738585072014e-308',
    '1.7976931348623157e308',
  ),
  fc.constantFrom(
    ' 1',
    '1 ',
    '1e',
    'e1',
    '.',
    '-',
    '--1',
    '1_0',
    '1,5',
    '0b1',
    '1e+3',
    '1E3',
    '+.5e1',
  ),
);
const key = fc.constantFrom('a', 'b');
const field = fc.constantFrom('f', 'g');

differential(
  'numbers',
  fc.oneof(
    { weight: 3, arbitrary: exact(words('SET', key, fc.oneof(whole, real))) },
    { weight: 6, arbitrary: exact(words('INCRBYFLOAT', key, real)) },
    { weight: 3, arbitrary: exact(words('INCRBY', key, whole)) },
    { weight: 3, arbitrary: exact(words('DECRBY', key, whole)) },
    exact(words('INCR', key)),
    exact(words('DECR', key)),
    exact(words('GET', key)),
    exact(words('OBJECT', 'ENCODING', key)),
    { weight: 2, arbitrary: exact(words('HSET', 'h', field, fc.oneof(whole, real))) },
    { weight: 6, arbitrary: exact(words('HINCRBYFLOAT', 'h', field, real)) },
    { weight: 3, arbitrary: exact(words('HINCRBY', 'h', field, whole)) },
    { weight: 4, arbitrary: scores(words('ZADD', 'z', real, field)) },
    { weight: 4, arbitrary: scores(words('ZINCRBY', 'z', real, field)) },
    { weight: 2, arbitrary: scores(words('ZADD', 'z', 'INCR', real, field)) },
    { weight: 2, arbitrary: scores(words('ZSCORE', 'z', field)) },
    { weight: 2, arbitrary: scores(words('ZRANGE', 'z', '0', '-1', 'WITHSCORES')) },
    { weight: 2, arbitrary: scores(words('ZCOUNT', 'z', real, real)) },
    scores(words('ZUNIONSTORE', 'z', '2', 'z', 'z', 'WEIGHTS', real, real)),
    exact(words('SETRANGE', key, fc.constantFrom('0', '1'), fc.constantFrom('1', '.', '-'))),
    exact(words('APPEND', key, fc.constantFrom('0', '.5', 'e1'))),
    exact(words('DEL', fc.constantFrom('a', 'b', 'h', 'z'))),
    exact(words('RPUSH', 'l', real)),
    exact(words('LRANGE', 'l', whole, whole)),
    exact(words('LINDEX', 'l', whole)),
    exact(words('GETRANGE', key, whole, whole)),
  ),
);
