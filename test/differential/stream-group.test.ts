import fc from 'fast-check';
import { differential, exact } from './differential.ts';
import { id } from './stream-words.ts';
import { integerWord, key, option, words, wordsAndMore } from './words.ts';

/** Far in the past or no time at all: what has just been given is never idle for so long. */
const idle = fc.oneof(
  { weight: 5, arbitrary: fc.constant('0') },
  fc.constantFrom('100000000', '-1', 'nonsense'),
);
const group = fc.constantFrom('g', 'g', 'h');
const consumer = fc.constantFrom('alice', 'bob', 'carol');
const count = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -1, max: 3 }).map(String) },
  integerWord,
);
const bound = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('-', '+') },
  { weight: 3, arbitrary: id },
  { weight: 2, arbitrary: id.map((text) => `(${text}`) },
);
const position = fc.oneof({ weight: 2, arbitrary: fc.constantFrom('$', '0', '0') }, id);

const add = fc
  .tuple(key, fc.nat(4))
  .map(([stream, ms]) => ['XADD', stream, `${ms}-*`, 'a', String(ms)]);
const create = fc
  .tuple(
    key,
    group,
    position,
    fc.oneof(
      { weight: 3, arbitrary: fc.constant(['MKSTREAM']) },
      { weight: 2, arbitrary: fc.constant([]) },
      fc.tuple(option('entriesread'), count).map((pair) => [...pair]),
      fc.constant(['entriesread']),
    ),
  )
  .map(([stream, name, at, options]) => ['XGROUP', 'CREATE', stream, name, at, ...options]);
const setId = fc
  .tuple(
    key,
    group,
    position,
    fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      fc.tuple(option('entriesread'), count).map((pair) => [...pair]),
    ),
  )
  .map(([stream, name, at, options]) => ['XGROUP', 'SETID', stream, name, at, ...options]);

const readGroup = fc
  .tuple(
    group,
    consumer,
    fc.array(
      fc.oneof(
        { weight: 4, arbitrary: fc.tuple(option('count'), count).map((pair) => [...pair]) },
        fc.constant(['NOACK']),
      ),
      { maxLength: 2 },
    ),
    fc.array(
      fc.tuple(
        key,
        fc.oneof(
          { weight: 6, arbitrary: fc.constant('>') },
          { weight: 2, arbitrary: fc.constant('0') },
          id,
          fc.constant('$'),
        ),
      ),
      { minLength: 1, maxLength: 3 },
    ),
  )
  .map(([name, who, options, pairs]) => [
    'XREADGROUP',
    'GROUP',
    name,
    who,
    ...options.flat(),
    'STREAMS',
    ...pairs.map(([stream]) => stream),
    ...pairs.map(([, from]) => from),
  ]);

/** The extended form tells how long entries were pending, in milliseconds: asked of nobody there. */
const pending = fc
  .tuple(key, group, fc.constantFrom([], ['idle', '100000000']), bound, bound, count)
  .map(([stream, name, idleness, start, end, limit]) => [
    'XPENDING',
    stream,
    name,
    ...(idleness.length > 0 ? idleness : ['idle', '100000000']),
    start,
    end,
    limit,
  ]);

const claimOption = fc.oneof(
  fc.constantFrom(['FORCE'], ['JUSTID'], ['FORCE', 'JUSTID']),
  fc.tuple(option('retrycount'), count).map((pair) => [...pair]),
  fc.tuple(option('lastid'), id).map((pair) => [...pair]),
  fc.tuple(option('idle', 'time'), fc.constantFrom('0', '5', '-7', 'x')).map((pair) => [...pair]),
);
const claim = fc
  .tuple(
    key,
    group,
    consumer,
    idle,
    fc.array(id, { minLength: 1, maxLength: 4 }),
    fc.array(claimOption, { maxLength: 2 }),
  )
  .map(([stream, name, who, least, ids, options]) => [
    'XCLAIM',
    stream,
    name,
    who,
    least,
    ...ids,
    ...options.flat(),
  ]);
const autoClaim = fc
  .tuple(
    key,
    group,
    consumer,
    idle,
    bound,
    fc.array(
      fc.oneof(
        fc.tuple(option('count'), count).map((pair) => [...pair]),
        fc.constant(['JUSTID']),
      ),
      { maxLength: 2 },
    ),
  )
  .map(([stream, name, who, least, start, options]) => [
    'XAUTOCLAIM',
    stream,
    name,
    who,
    least,
    start,
    ...options.flat(),
  ]);

differential(
  'consumer groups',
  fc.oneof(
    { weight: 10, arbitrary: exact(add) },
    { weight: 7, arbitrary: exact(create) },
    { weight: 14, arbitrary: exact(readGroup) },
    { weight: 4, arbitrary: exact(wordsAndMore(['XACK', key, group, id], id, 3)) },
    { weight: 5, arbitrary: exact(words('XPENDING', key, group)) },
    { weight: 2, arbitrary: exact(pending) },
    { weight: 6, arbitrary: exact(claim) },
    { weight: 5, arbitrary: exact(autoClaim) },
    { weight: 2, arbitrary: exact(setId) },
    { weight: 2, arbitrary: exact(words('XGROUP', 'DELCONSUMER', key, group, consumer)) },
    exact(words('XGROUP', 'DESTROY', key, group)),
    { weight: 3, arbitrary: exact(wordsAndMore(['XDEL', key, id], id, 2)) },
    exact(words('XTRIM', key, 'maxlen', fc.constantFrom('0', '1', '2'))),
    exact(words('XRANGE', key, '-', '+')),
    exact(words('XINFO', 'stream', key)),
    exact(wordsAndMore(['DEL', key], key)),
    exact(words('SET', key, 'a')),
    exact(words('RENAME', key, key)),
    exact(wordsAndMore(['COPY', key, key], option('replace'), 1)),
    exact(
      fc
        .tuple(
          fc.constantFrom('XACK', 'XCLAIM', 'XAUTOCLAIM', 'XPENDING', 'XREADGROUP'),
          key,
          group,
          consumer,
        )
        .map((line) => [...line]),
    ),
  ),
);
