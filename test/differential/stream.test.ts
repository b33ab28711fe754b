import fc from 'fast-check';
import { differential, exact } from './differential.ts';
import { id, LAST_OF_ALL } from './stream-words.ts';
import { integerWord, key, option, words, wordsAndMore } from './words.ts';

const newId = fc.oneof(
  { weight: 10, arbitrary: id },
  { weight: 8, arbitrary: fc.nat(4).map((ms) => `${ms}-*`) },
  fc.constantFrom('-*', '1-*2', '1-**', 'x-*', '*-1', '18446744073709551615-*'),
);
const bound = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('-', '+') },
  { weight: 4, arbitrary: id },
  { weight: 3, arbitrary: id.map((text) => `(${text}`) },
  fc.constantFrom('(', '(-', '(+', '(0-0', '((1-1'),
);
const count = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -2, max: 5 }).map(String) },
  integerWord,
);
const mark = fc.constantFrom([], ['='], ['~']);
const trim = fc
  .tuple(
    fc.oneof(
      fc.tuple(option('maxlen'), mark, count),
      fc.tuple(option('minid'), mark, id),
      fc.tuple(option('maxlen'), mark, fc.constant('1')),
    ),
    fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      fc.tuple(option('limit'), count).map((pair) => [...pair]),
    ),
  )
  .map(([[strategy, marks, threshold], limit]) => [strategy, ...marks, threshold, ...limit]);
const trims = fc.oneof(
  { weight: 12, arbitrary: trim },
  fc.tuple(trim, trim).map(([one, other]) => [...one, ...other]),
  fc.constantFrom(['limit', '5'], ['limit', '0'], ['limit', '-1'], ['maxlen'], ['minid', '~']),
);
const field = fc.constantFrom('a', 'b', 'field', '', 'x'.repeat(70));

const add = fc
  .tuple(
    key,
    fc.oneof(
      { weight: 5, arbitrary: fc.constant([]) },
      option('nomkstream').map((o) => [o]),
    ),
    fc.oneof({ weight: 4, arbitrary: fc.constant([] as string[]) }, trims),
    fc.boolean(),
    newId,
    fc.array(field, { minLength: 2, maxLength: 5 }),
  )
  .map(([stream, existing, kept, trimFirst, given, fields]) => [
    'XADD',
    stream,
    ...(trimFirst ? [...kept, ...existing] : [...existing, ...kept]),
    given,
    ...fields,
  ]);
const addMany = fc
  .tuple(key, fc.nat(4))
  .map(([stream, ms]) => ['XADD', stream, `${ms}-*`, 'a', 'b']);

/** `+` is one from 7.4 on. */
const behind = id.filter((text) => text !== '+');
const read = fc
  .tuple(
    fc.array(
      fc.tuple(option('count'), count).map((pair) => [...pair]),
      { maxLength: 2 },
    ),
    fc.oneof(
      { weight: 8, arbitrary: fc.constant([]) },
      fc.constantFrom(['noack'], ['group', 'g', 'c'], ['block'], ['nonsense'], ['block', '-1']),
    ),
    fc.array(fc.tuple(key, fc.oneof({ weight: 5, arbitrary: behind }, fc.constantFrom('$', '>'))), {
      minLength: 1,
      maxLength: 4,
    }),
    fc.oneof({ weight: 9, arbitrary: fc.constant([]) }, fc.constant(['1-1'])),
  )
  .map(([counts, odd, pairs, rest]) => [
    'XREAD',
    ...counts.flat(),
    ...odd,
    'streams',
    ...pairs.map(([stream]) => stream),
    ...pairs.map(([, from]) => from),
    ...rest,
  ]);

const setId = fc
  .tuple(
    key,
    fc.constant(LAST_OF_ALL),
    fc.array(
      fc.oneof(
        fc.tuple(option('entriesadded'), count),
        fc.tuple(option('maxdeletedid'), id),
        fc.constant(['entriesadded']),
      ),
      { maxLength: 2 },
    ),
  )
  .map(([stream, last, options]) => ['XSETID', stream, last, ...options.flat()])
  .filter((line) => line.every((word) => !/^-?\d{17,}$/.test(word)));

differential(
  'streams',
  fc.oneof(
    { weight: 6, arbitrary: exact(add) },
    { weight: 8, arbitrary: exact(addMany) },
    { weight: 4, arbitrary: exact(wordsAndMore(['XDEL', key, id], id, 3)) },
    { weight: 3, arbitrary: exact(fc.tuple(key, trims).map(([k, t]) => ['XTRIM', k, ...t])) },
    { weight: 3, arbitrary: exact(words('XRANGE', key, '-', '+')) },
    { weight: 3, arbitrary: exact(words('XRANGE', key, bound, bound)) },
    { weight: 2, arbitrary: exact(words('XRANGE', key, bound, bound, option('count'), count)) },
    { weight: 3, arbitrary: exact(words('XREVRANGE', key, bound, bound)) },
    { weight: 2, arbitrary: exact(words('XREVRANGE', key, bound, bound, option('count'), count)) },
    { weight: 4, arbitrary: exact(read) },
    exact(setId),
    { weight: 4, arbitrary: exact(words('XINFO', fc.constantFrom('stream', 'STREAM'), key)) },
    exact(words('XLEN', key)),
    exact(wordsAndMore(['DEL', key], key)),
    exact(words('TYPE', key)),
    exact(words('SET', key, field)),
    exact(words('RPUSH', key, field)),
    exact(words('GET', key)),
    exact(words('LLEN', key)),
    exact(words('RENAME', key, key)),
    exact(wordsAndMore(['COPY', key, key], option('replace'), 1)),
    exact(words('PEXPIRE', key, fc.constantFrom('100000', '-1'))),
    exact(
      fc
        .tuple(fc.constantFrom('XADD', 'XDEL', 'XTRIM', 'XRANGE', 'XREAD', 'XSETID', 'XLEN'), key)
        .map((line) => [...line]),
    ),
  ),
);
