/** Deadlines at given moments, so that what is left can be compared to the millisecond. */
import fc from 'fast-check';
import { differential, exact, inSeconds } from './differential.ts';
import { key, member, option, words, wordsAndMore } from './words.ts';

/** 2100 and 2200 in seconds, around them, and what no deadline can be. */
const seconds = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('4102444800', '4102444801', '7258118400') },
  fc.constantFrom('1', '0', '-1', '-9223372036854775808', '9223372036854775807', '', 'x', '1.5'),
);
const milliseconds = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('4102444800499', '4102444800500', '7258118400001') },
  fc.constantFrom('1', '0', '-1', '-9223372036854775808', '9223372036854775808', '', 'x', '01'),
);
const condition = option('nx', 'xx', 'gt', 'lt');
const expiry = fc.oneof(
  words(option('exat'), seconds),
  words(option('pxat'), milliseconds),
  words(option('persist', 'keepttl')),
  words(option('ex', 'px', 'exat', 'pxat')),
);
const setOption = fc.oneof(
  { weight: 3, arbitrary: expiry },
  option('nx', 'xx', 'get').map((text) => [text]),
);
const set = fc
  .tuple(words('SET', key, member), fc.array(setOption, { maxLength: 3 }))
  .map(([line, options]) => [...line, ...options.flat()]);
const getex = fc
  .tuple(words('GETEX', key), fc.array(expiry, { maxLength: 2 }))
  .map(([line, options]) => [...line, ...options.flat()]);

differential(
  'deadlines',
  fc.oneof(
    { weight: 4, arbitrary: exact(set) },
    { weight: 3, arbitrary: exact(getex) },
    { weight: 5, arbitrary: exact(wordsAndMore(['EXPIREAT', key, seconds], condition, 3)) },
    { weight: 5, arbitrary: exact(wordsAndMore(['PEXPIREAT', key, milliseconds], condition, 3)) },
    { weight: 6, arbitrary: exact(words('EXPIRETIME', key)) },
    { weight: 6, arbitrary: exact(words('PEXPIRETIME', key)) },
    inSeconds(words('TTL', key)),
    { weight: 2, arbitrary: exact(words('PERSIST', key)) },
    { weight: 2, arbitrary: exact(words('GET', key)) },
    exact(words('EXISTS', key, key)),
    // what keeps a deadline, moves it with the key, or ends it
    exact(words('APPEND', key, member)),
    exact(words('INCR', key)),
    exact(words('GETSET', key, member)),
    exact(words('GETDEL', key)),
    exact(words('SETRANGE', key, '2', member)),
    exact(words('SETBIT', key, '3', '1')),
    exact(words('BITOP', 'NOT', key, key)),
    exact(words('MSET', key, member, key, member)),
    exact(words('RPUSH', key, member)),
    exact(words('LPOP', key)),
    exact(words('LMOVE', key, key, 'left', 'right')),
    exact(words('SADD', key, member)),
    exact(words('SMOVE', key, key, member)),
    exact(words('SUNIONSTORE', key, key, key)),
    exact(words('HSET', key, member, member)),
    exact(words('HDEL', key, member)),
    exact(words('ZADD', key, '1', member)),
    exact(words('ZUNIONSTORE', key, '1', key)),
    exact(words('ZREM', key, member)),
    exact(words('SORT', key, 'ALPHA', 'STORE', key)),
    { weight: 2, arbitrary: exact(words('RENAME', key, key)) },
    exact(words('RENAMENX', key, key)),
    { weight: 2, arbitrary: exact(wordsAndMore(['COPY', key, key], option('replace'), 1)) },
    exact(words('DEL', key)),
  ),
);
