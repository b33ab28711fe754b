import fc from 'fast-check';
import { differential, exact, inOrder, inSeconds } from './differential.ts';
import { integerWord, key, member, option, wholeScan, words, wordsAndMore } from './words.ts';

const count = fc.oneof(integerWord, fc.constantFrom('0', '1', '-1', '3', '100', '-4'));
const cardLimit = fc.oneof(
  fc.constant<string[]>([]),
  fc.tuple(option('limit'), fc.constantFrom('0', '1', '2', '-1', 'x')),
  option('limit').map((text) => [text]),
);
const card = fc
  .tuple(
    words('SINTERCARD', fc.constantFrom('1', '2', '2', '3', '0', '-1', 'x', '')),
    fc.array(key, { minLength: 1, maxLength: 3 }),
    cardLimit,
  )
  .map(([line, keys, limit]) => [...line, ...keys, ...limit]);
const store = fc.constantFrom('SINTERSTORE', 'SUNIONSTORE', 'SDIFFSTORE');
const combine = fc.constantFrom('SINTER', 'SUNION', 'SDIFF');
const small = fc.constantFrom('a', 'b', 'c', 'd', 'e', '1', '2', '3');
/** Sets of integers, around where they stop being an intset. */
const integers = fc.constantFrom(1, 500, 511, 512, 513).map((size) => {
  return ['SADD', 'ints', ...Array.from({ length: size }, (_, at) => String(at - 3))];
});

differential(
  'sets',
  fc.oneof(
    { weight: 8, arbitrary: exact(wordsAndMore(['SADD', key, small], small, 6)) },
    { weight: 2, arbitrary: exact(wordsAndMore(['SADD', key, member], member)) },
    { weight: 2, arbitrary: exact(wordsAndMore(['SREM', key, small], small)) },
    { weight: 3, arbitrary: inOrder('set')(words('SMEMBERS', key)) },
    exact(words('SISMEMBER', key, small)),
    exact(wordsAndMore(['SMISMEMBER', key, small], small)),
    exact(words('SCARD', key)),
    // what is popped is random: all of it, or nothing is compared after it
    inOrder('set')(words('SPOP', key, fc.constantFrom('100', '0', '-1', 'x', '', '1.5'))),
    inOrder('count')(wordsAndMore(['SPOP', 'none'], count, 2)),
    inOrder('count')(words('SRANDMEMBER', key)),
    { weight: 2, arbitrary: inOrder('count')(wordsAndMore(['SRANDMEMBER', key, count], count, 1)) },
    inOrder('set')(words('SRANDMEMBER', key, '100')),
    { weight: 3, arbitrary: exact(words('SMOVE', key, key, small)) },
    { weight: 6, arbitrary: inOrder('set')(wordsAndMore([combine, key], key)) },
    { weight: 6, arbitrary: exact(wordsAndMore([store, key, key], key)) },
    { weight: 3, arbitrary: exact(card) },
    { weight: 2, arbitrary: inOrder('scan')(wholeScan('SSCAN')) },
    exact(integers),
    exact(words('SREM', 'ints', '1', '2', '3')),
    exact(words('SADD', 'ints', fc.constantFrom('7', '1000', '1001'))),
    exact(words('SUNIONSTORE', 'ints', 'ints', fc.constantFrom('ints', 'none'))),
    exact(words('OBJECT', 'ENCODING', 'ints')),
    exact(words('SET', key, member)),
    exact(wordsAndMore(['DEL', key], key)),
    exact(words('TYPE', key)),
    exact(words('RENAME', key, key)),
    exact(wordsAndMore(['COPY', key, key], option('replace'), 1)),
    exact(words('EXPIRE', key, fc.constantFrom('1000', '-1'))),
    inSeconds(words('TTL', key)),
    exact(words('HSET', key, member, member)),
    exact(words('APPEND', key, member)),
    exact(words('DBSIZE')),
  ),
);
