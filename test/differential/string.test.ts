import fc from 'fast-check';
import { differential, exact, inSeconds } from './differential.ts';
import { doubleWord, integerWord, key, member, option, words, wordsAndMore } from './words.ts';

/** None that is over before the sequence is. */
const setOption = fc.oneof(
  option('nx', 'xx', 'get', 'keepttl').map((text) => [text]),
  fc.tuple(option('ex', 'px'), fc.constantFrom('100000', '0', '-1', 'abc', '9999999999')),
);

const set = fc
  .tuple(words('SET', key, member), fc.array(setOption, { maxLength: 2 }))
  .map(([line, options]) => [...line, ...options.flat()]);

differential(
  'strings',
  fc.oneof(
    { weight: 6, arbitrary: exact(set) },
    { weight: 4, arbitrary: exact(words('GET', key)) },
    exact(words('GETSET', key, member)),
    exact(words('GETDEL', key)),
    exact(words('SETNX', key, member)),
    exact(words('APPEND', key, member)),
    exact(words('STRLEN', key)),
    exact(words('GETRANGE', key, integerWord, integerWord)),
    exact(words('SUBSTR', key, integerWord, integerWord)),
    exact(words('SETRANGE', key, fc.constantFrom('0', '1', '5', '-1', 'x'), member)),
    exact(words('INCR', key)),
    exact(words('DECR', key)),
    exact(words('INCRBY', key, integerWord)),
    exact(words('DECRBY', key, integerWord)),
    exact(words('INCRBYFLOAT', key, doubleWord)),
    exact(wordsAndMore(['MGET', key], key)),
    exact(words('MSET', key, member, key, member)),
    exact(wordsAndMore(['MSETNX', key, member], key, 2)),
    exact(words('GETEX', key)),
    exact(words('GETEX', key, option('persist'))),
    exact(wordsAndMore(['LCS', key, key], option('len', 'idx', 'withmatchlen'))),
    exact(wordsAndMore(['DEL', key], key)),
    exact(wordsAndMore(['EXISTS', key], key)),
    exact(words('TYPE', key)),
    exact(words('RENAME', key, key)),
    exact(words('RENAMENX', key, key)),
    exact(wordsAndMore(['COPY', key, key], option('replace'), 1)),
    exact(words('OBJECT', 'ENCODING', key)),
    exact(words('PERSIST', key)),
    exact(words('EXPIRE', key, fc.constantFrom('1000', '-1', 'x'))),
    inSeconds(words('TTL', key)),
  ),
);
