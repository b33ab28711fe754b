import fc from 'fast-check';
import { differential, exact, inSeconds } from './differential.ts';
import { integerWord, key, member, option, words, wordsAndMore } from './words.ts';

const whole = fc.integer({ min: -40, max: 40 }).map(String);
const far = fc.constantFrom('9223372036854775807', '-9223372036854775808');
const place = fc.oneof({ weight: 8, arbitrary: whole }, far);
const offset = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 90 }).map(String) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 9 }).map((n) => `#${n}`) },
  fc.constantFrom('4294967296', '#-1', '#', '#9223372036854775807', '-1', 'x', ''),
);
const bit = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('0', '1') },
  fc.constantFrom('2', '-1', 'x'),
);
const knownBit = fc.constantFrom('0', '1');
const unit = fc.constantFrom('byte', 'bit', 'BIT', 'Byte');
const encoding = fc.oneof(
  {
    weight: 10,
    arbitrary: fc
      .tuple(fc.constantFrom('i', 'u'), fc.integer({ min: 1, max: 63 }))
      .map(([sign, bits]) => `${sign}${bits}`),
  },
  fc.constantFrom('i8', 'u8', 'i64', 'u64', 'i65', 'i0', 'x8', 'I8', 'i', ''),
);
const operand = fc.oneof(
  integerWord,
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
);
const fieldSteps = fc.oneof(
  words(option('get'), encoding, offset),
  { weight: 3, arbitrary: words(option('set', 'incrby'), encoding, offset, operand) },
  { weight: 2, arbitrary: words('OVERFLOW', fc.constantFrom('wrap', 'sat', 'fail', 'FAIL', 'x')) },
);
const bitField = (name: string) =>
  fc
    .tuple(words(name, key), fc.array(fieldSteps, { maxLength: 5 }))
    .map(([line, steps]) => [...line, ...steps.flat()]);

differential(
  'bits',
  fc.oneof(
    { weight: 2, arbitrary: exact(words('SET', key, member)) },
    { weight: 2, arbitrary: exact(words('GET', key)) },
    { weight: 4, arbitrary: exact(words('SETBIT', key, offset, bit)) },
    { weight: 2, arbitrary: exact(words('GETBIT', key, offset)) },
    exact(words('BITCOUNT', key)),
    { weight: 2, arbitrary: exact(words('BITCOUNT', key, place, place)) },
    { weight: 2, arbitrary: exact(words('BITCOUNT', key, place, place, unit)) },
    exact(words('BITPOS', key, bit)),
    { weight: 2, arbitrary: exact(words('BITPOS', key, knownBit, place)) },
    { weight: 2, arbitrary: exact(words('BITPOS', key, knownBit, place, place)) },
    { weight: 2, arbitrary: exact(words('BITPOS', key, knownBit, place, place, unit)) },
    {
      weight: 2,
      arbitrary: exact(wordsAndMore(['BITOP', option('and', 'or', 'xor', 'not'), key, key], key)),
    },
    { weight: 6, arbitrary: exact(bitField('BITFIELD')) },
    { weight: 2, arbitrary: exact(bitField('BITFIELD_RO')) },
    exact(words('EXPIRE', key, '1000')),
    inSeconds(words('TTL', key)),
    exact(words('INCR', key)),
    exact(words('OBJECT', 'ENCODING', key)),
    exact(words('DEL', key)),
    exact(wordsAndMore([fc.constantFrom('SETBIT', 'GETBIT', 'BITFIELD', 'BITOP')], key)),
  ),
);
