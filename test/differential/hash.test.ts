import fc from 'fast-check';
import { differential, exact, inOrder, inSeconds } from './differential.ts';
import {
  doubleWord,
  integerWord,
  key,
  member,
  option,
  wholeScan,
  words,
  wordsAndMore,
} from './words.ts';

const value = fc.oneof({ weight: 3, arbitrary: member }, integerWord, doubleWord);
const count = fc.oneof(integerWord, fc.constantFrom('0', '1', '-1', '3', '100', '-4'));
const number = fc.oneof(doubleWord, integerWord, fc.constantFrom('1e17', '123456789.123456789'));
/** More fields than a listpack holds, or values longer than it takes. */
const manyFields = fc.constantFrom(0, 500, 508, 511, 512, 513).map((size) => {
  const pairs = Array.from({ length: size }, (_, at) => [`f${at}`, String(at)]);
  return ['HSET', 'big', ...pairs.flat(), 'last', 'v'];
});
const bigKey = fc.constant('big');

differential(
  'hashes',
  fc.oneof(
    { weight: 5, arbitrary: exact(words('HSET', key, member, value)) },
    { weight: 3, arbitrary: exact(wordsAndMore(['HSET', key, member, value], value)) },
    exact(wordsAndMore(['HMSET', key, member, value], value)),
    exact(words('HSETNX', key, member, value)),
    { weight: 2, arbitrary: exact(words('HGET', key, member)) },
    exact(wordsAndMore(['HMGET', key, member], member)),
    { weight: 2, arbitrary: inOrder('pairs')(words('HGETALL', key)) },
    { weight: 2, arbitrary: exact(wordsAndMore(['HDEL', key, member], member)) },
    exact(words('HLEN', key)),
    exact(words('HEXISTS', key, member)),
    inOrder('set')(words('HKEYS', key)),
    inOrder('set')(words('HVALS', key)),
    exact(words('HSTRLEN', key, member)),
    { weight: 2, arbitrary: exact(words('HINCRBY', key, member, integerWord)) },
    { weight: 2, arbitrary: exact(words('HINCRBYFLOAT', key, member, number)) },
    inOrder('count')(words('HRANDFIELD', key)),
    { weight: 2, arbitrary: inOrder('count')(words('HRANDFIELD', key, count)) },
    inOrder('count')(wordsAndMore(['HRANDFIELD', key, count], option('withvalues'), 2)),
    inOrder('pairs')(words('HRANDFIELD', key, '100', option('withvalues'))),
    { weight: 2, arbitrary: inOrder('scanPairs')(wholeScan('HSCAN')) },
    exact(manyFields),
    exact(words('HDEL', 'big', 'last', 'f1', 'f2')),
    exact(words('HSETNX', 'big', member, value)),
    exact(words('HLEN', 'big')),
    exact(words('OBJECT', 'ENCODING', fc.oneof(key, bigKey))),
    exact(words('SET', key, member)),
    exact(wordsAndMore(['DEL', key], key)),
    exact(words('TYPE', key)),
    exact(words('RENAME', key, key)),
    exact(wordsAndMore(['COPY', key, key], option('replace'), 1)),
    exact(words('EXPIRE', key, fc.constantFrom('1000', '-1'))),
    inSeconds(words('TTL', key)),
    exact(words('PERSIST', key)),
    exact(words('SADD', key, fc.constantFrom('1', '2'))),
    exact(words('APPEND', key, member)),
    exact(words('DBSIZE')),
  ),
);
