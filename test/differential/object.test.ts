import fc from 'fast-check';
import { differential, exact } from './differential.ts';
import { doubleWord, integerWord, key, member, option, words, wordsAndMore } from './words.ts';

const absent = fc.constant('never there');

differential(
  'what a value looks like inside',
  fc.oneof(
    { weight: 4, arbitrary: exact(words('SET', key, fc.oneof(member, integerWord, doubleWord))) },
    exact(words('INCR', key)),
    exact(words('INCRBYFLOAT', key, doubleWord)),
    exact(words('APPEND', key, fc.constantFrom('1', '', 'x'))),
    exact(words('SETRANGE', key, '0', fc.constantFrom('1', ''))),
    exact(words('SETBIT', key, '3', '1')),
    exact(words('RENAME', key, key)),
    exact(words('EXPIRE', key, '1000')),
    { weight: 4, arbitrary: exact(words('OBJECT', option('encoding', 'refcount', 'freq'), key)) },
    exact(words('OBJECT', option('encoding', 'refcount', 'freq', 'idletime'), absent)),
    exact(wordsAndMore(['OBJECT', option('encoding', 'freq', 'help')], key, 3)),
    exact(wordsAndMore(['TOUCH', key], key)),
    exact(words('MEMORY', option('usage'), absent)),
    exact(words('MEMORY', 'USAGE', absent, option('samples'), integerWord)),
    exact(
      fc.constantFrom(['OBJECT'], ['OBJECT', 'HELP'], ['TOUCH'], ['MEMORY'], ['MEMORY', 'USAGE']),
    ),
  ),
  0.3,
);
