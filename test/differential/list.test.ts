import fc from 'fast-check';
import { differential, exact, inSeconds } from './differential.ts';
import { integerWord, key, option, words, wordsAndMore } from './words.ts';

/** Few values, so that lists hold the same one several times. */
const element = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('a', 'b', 'c', '1') },
  fc.constantFrom('', '-7', '01', 'héllo', 'x'.repeat(70)),
);
const end = option('left', 'right');
const count = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -3, max: 6 }).map(String) },
  integerWord,
);
const many = fc.constantFrom('40', '140', '300');

/** As a RANK it overflows in the oracle (exceptions.ts). */
const LOWEST = '-9223372036854775808';

/** Long enough for walks in slices and changes far from both ends. */
const pushMany = fc
  .tuple(option('lpush', 'rpush'), key, many, element)
  .map(([name, list, length, fill]) => [
    name,
    list,
    ...Array.from({ length: Number(length) }, (_, at) => (at % 9 === 4 ? fill : `n${at % 20}`)),
  ])
  .filter(([name]) => name !== 'nonsense');

const posOption = fc.oneof(
  fc.tuple(option('rank', 'count', 'maxlen'), count).filter(([, value]) => value !== LOWEST),
  option('rank', 'count').map((text) => [text]),
);
const pos = fc
  .tuple(words('LPOS', key, element), fc.array(posOption, { maxLength: 3 }))
  .map(([line, options]) => [...line, ...options.flat()]);

const multiPop = fc
  .tuple(
    fc.array(key, { minLength: 1, maxLength: 4 }),
    fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, integerWord),
    end,
    fc.array(fc.tuple(option('count'), count), { maxLength: 1 }),
    fc.oneof({ weight: 6, arbitrary: fc.constant([]) }, fc.constant(['count'])),
  )
  .map(([keys, wrong, side, counts, rest]) => {
    return ['LMPOP', wrong ?? String(keys.length), ...keys, side, ...counts.flat(), ...rest];
  });

differential(
  'lists',
  fc.oneof(
    { weight: 5, arbitrary: exact(wordsAndMore(['LPUSH', key, element], element, 6)) },
    { weight: 5, arbitrary: exact(wordsAndMore(['RPUSH', key, element], element, 6)) },
    { weight: 2, arbitrary: exact(pushMany) },
    exact(wordsAndMore(['LPUSHX', key, element], element)),
    exact(wordsAndMore(['RPUSHX', key, element], element)),
    { weight: 2, arbitrary: exact(wordsAndMore(['LPOP', key], count, 2)) },
    { weight: 2, arbitrary: exact(wordsAndMore(['RPOP', key], count, 2)) },
    exact(words('LLEN', key)),
    { weight: 2, arbitrary: exact(words('LINDEX', key, integerWord)) },
    { weight: 5, arbitrary: exact(words('LRANGE', key, '0', '-1')) },
    { weight: 2, arbitrary: exact(words('LRANGE', key, integerWord, integerWord)) },
    { weight: 2, arbitrary: exact(words('LSET', key, integerWord, element)) },
    { weight: 3, arbitrary: exact(words('LREM', key, count, element)) },
    { weight: 2, arbitrary: exact(words('LTRIM', key, integerWord, integerWord)) },
    {
      weight: 4,
      arbitrary: exact(words('LINSERT', key, option('before', 'after'), element, element)),
    },
    { weight: 2, arbitrary: exact(pos) },
    { weight: 2, arbitrary: exact(words('LMOVE', key, key, end, end)) },
    { weight: 2, arbitrary: exact(words('RPOPLPUSH', key, key)) },
    { weight: 2, arbitrary: exact(multiPop) },
    exact(wordsAndMore(['DEL', key], key)),
    exact(words('TYPE', key)),
    exact(words('EXISTS', key)),
    exact(words('SET', key, element)),
    exact(words('GET', key)),
    exact(words('APPEND', key, element)),
    exact(words('RENAME', key, key)),
    exact(wordsAndMore(['COPY', key, key], option('replace'), 1)),
    exact(words('PEXPIRE', key, fc.constantFrom('100000', '-1'))),
    inSeconds(words('TTL', key)),
    exact(
      fc
        .tuple(fc.constantFrom('LPUSH', 'LSET', 'LPOP', 'LRANGE', 'LINSERT', 'LMPOP'), key)
        .map((line) => [...line]),
    ),
  ),
);
