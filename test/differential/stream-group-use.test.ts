/**
 * Consumer groups of streams. Known differences from 7.0, as 7.2 has it: who asks is a consumer from then
 * on, though it gets nothing (here it is made before), and XINFO tells of `inactive` and `active-time`.
 */
import fc from 'fast-check';
import { differential, exact, inOrder, type Step } from './differential.ts';
import { id, LAST_OF_ALL } from './stream-words.ts';
import { integerWord, option, words, wordsAndMore } from './words.ts';

const moments = inOrder('moments');
const key = fc.constantFrom('a', 'a', 'a', 'b', 'c');
const group = fc.constantFrom('g', 'g', 'g', 'h', '');
const consumer = fc.constantFrom('c', 'd', 'e', '');
const smallId = fc.tuple(fc.nat(2), fc.nat(4)).map(([ms, sequence]) => `${ms}-${sequence}`);
const anId = fc.oneof({ weight: 12, arbitrary: smallId }, id);
const count = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: -1, max: 4 }).map(String) },
  integerWord,
);
const minIdle = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('0', '0', '50000', '-5', '99999999999') },
  integerWord.filter((text) => !/^\+?[1-9]\d?$/.test(text)),
);
const bound = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('-', '+') },
  { weight: 4, arbitrary: anId },
  { weight: 3, arbitrary: anId.map((text) => `(${text}`) },
);

const made = (...line: string[]) => ['XGROUP', 'CREATECONSUMER', ...line];

/** The same with the consumer made before. */
const asking =
  (at: number) =>
  (line: string[]): Step => ({
    words: line,
    order: 'moments',
    ...(line.length > at + 1 ? { before: [made(line[at - 1]!, line[at]!, line[at + 1]!)] } : {}),
  });

const add = words('XADD', key, smallId, 'f', fc.constantFrom('v', 'w'));
const addNext = fc.tuple(key, fc.nat(3)).map(([k, ms]) => ['XADD', k, `${ms}-*`, 'f', 'v']);

const createOption = fc.oneof(
  { weight: 4, arbitrary: option('mkstream').map((text) => [text]) },
  fc.tuple(option('entriesread'), count).map((pair) => [...pair]),
  fc.constant(['entriesread']),
);
/** Counts are kept up to 2^53. */
const isKept = (line: readonly string[]) =>
  line.every(
    (text, at) => !/^(entriesread|retrycount)$/i.test(line[at - 1] ?? '') || text.length < 17,
  );
const fromId = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('0', '$', '0-1') },
  { weight: 3, arbitrary: anId },
);
const create = fc
  .tuple(key, group, fromId, fc.array(createOption, { maxLength: 4 }))
  .map(([k, g, from, options]) => ['XGROUP', 'CREATE', k, g, from, ...options.flat()])
  .filter(isKept);
const createPlain = words('XGROUP', 'create', key, group, '0', 'MKSTREAM');
const setId = fc
  .tuple(key, group, fromId, fc.array(createOption, { maxLength: 2 }))
  .map(([k, g, from, options]) => ['XGROUP', 'SETID', k, g, from, ...options.flat()])
  .filter(isKept);

const readOption = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(option('count'), count).map((pair) => [...pair]) },
  option('noack').map((text) => [text]),
);
const readId = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('>', '>', '0') },
  { weight: 2, arbitrary: anId },
  fc.constantFrom('$', '+', '18446744073709551615-18446744073709551615'),
);
const readOne = fc
  .tuple(group, consumer, fc.array(readOption, { maxLength: 2 }), key, readId)
  .map(([g, c, options, k, from]) => ({
    words: ['XREADGROUP', 'GROUP', g, c, ...options.flat(), 'STREAMS', k, from],
    before: [made(k, g, c)],
  }));
const readTwo = fc
  .tuple(consumer, fc.array(readOption, { maxLength: 1 }), readId, readId, fc.boolean())
  .map(([c, options, one, other, same]) => ({
    words: [
      ...['XREADGROUP', ...options.flat(), 'GROUP', 'g', c, 'streams'],
      ...['a', same ? 'a' : 'b', one, other],
    ],
    before: [made('a', 'g', c), ...(same ? [] : [made('b', 'g', c)])],
  }));
const readWrongly = fc.constantFrom<string[]>(
  ['XREADGROUP', 'GROUP', 'g', 'c', 'STREAMS', 'a', 'b', '>'],
  ['XREADGROUP', 'GROUP', 'g', 'STREAMS', 'a', '>', '>'],
  ['XREADGROUP', 'COUNT', '1', 'NOACK', 'STREAMS', 'a', '>'],
  ['XREADGROUP', 'GROUP', 'g', 'c', 'COUNT', 'x', 'STREAMS', 'a', '>'],
);

const claimOption = fc.oneof(
  option('force').map((text) => [text]),
  option('justid').map((text) => [text]),
  fc.tuple(option('idle'), fc.constantFrom('100000', '0', '-9', 'x', '9223372036854775807')),
  fc.tuple(option('time'), fc.constantFrom('5', '0', '-1', 'x', '99999999999999')),
  fc.tuple(option('retrycount'), count),
  fc.tuple(option('lastid'), anId),
  fc.constantFrom(['idle'], ['lastid']),
);
const claim = fc
  .tuple(
    words('XCLAIM', key, group, consumer, minIdle),
    fc.array(anId, { minLength: 1, maxLength: 4 }),
    fc.array(claimOption, { maxLength: 3 }),
  )
  .map(([line, ids, options]) => [...line, ...ids, ...options.flat()])
  .filter(isKept);
const autoClaimOption = fc.oneof(
  fc.tuple(option('count'), fc.constantFrom('1', '1', '2', '0', '-1', 'x')).map((o) => [...o]),
  option('justid').map((text) => [text]),
  fc.constant(['count']),
);
const autoClaim = fc
  .tuple(
    words('XAUTOCLAIM', key, group, consumer, minIdle),
    fc.oneof({ weight: 5, arbitrary: fc.constant('0') }, bound),
    fc.array(autoClaimOption, { maxLength: 2 }),
  )
  .map(([line, start, options]) => [...line, start, ...options.flat()]);

const pending = fc
  .tuple(
    words('XPENDING', key, group),
    fc.oneof({ weight: 5, arbitrary: fc.constant([]) }, fc.tuple(option('idle'), minIdle)),
    words(bound, bound, count),
    fc.array(consumer, { maxLength: 1 }),
  )
  .map(([line, idle, interval, whose]) => [...line, ...idle, ...interval, ...whose]);
const pendingAll = fc
  .tuple(words('XPENDING', key, group), fc.array(consumer, { maxLength: 1 }))
  .map(([line, whose]) => [...line, '-', '+', '100', ...whose]);

const known = (line: { words: string[]; before: string[][] }): Step => ({
  ...line,
  order: 'moments',
});

const scene = [
  ...['0-1', '0-3', '1-1', '1-2', '2-2'].map((entry) => `XADD a ${entry} f v`),
  'XGROUP CREATE a g 0',
  'XGROUP CREATE a h 0-1 ENTRIESREAD 1',
  'XGROUP CREATECONSUMER a g c',
  'XREADGROUP GROUP g c COUNT 2 STREAMS a >',
];

differential(
  'consumer groups in use',
  fc.oneof(
    { weight: 6, arbitrary: exact(add) },
    { weight: 12, arbitrary: exact(addNext) },
    { weight: 4, arbitrary: exact(createPlain) },
    { weight: 4, arbitrary: exact(create) },
    { weight: 3, arbitrary: exact(setId) },
    { weight: 16, arbitrary: readOne.map(known) },
    { weight: 5, arbitrary: readTwo.map(known) },
    exact(readWrongly),
    { weight: 6, arbitrary: exact(wordsAndMore(['XACK', key, group, anId], anId, 3)) },
    { weight: 8, arbitrary: claim.map(asking(2)) },
    { weight: 6, arbitrary: autoClaim.map(asking(2)) },
    { weight: 4, arbitrary: exact(words('XPENDING', key, group)) },
    { weight: 6, arbitrary: moments(pending) },
    { weight: 6, arbitrary: moments(pendingAll) },
    { weight: 1, arbitrary: exact(wordsAndMore(['XPENDING', key, group], bound, 5)) },
    { weight: 5, arbitrary: moments(words('XINFO', 'GROUPS', key)) },
    { weight: 4, arbitrary: moments(words('XINFO', 'CONSUMERS', key, group)) },
    { weight: 3, arbitrary: moments(words('XINFO', 'STREAM', key, option('full'))) },
    moments(words('XINFO', 'STREAM', key, 'full', option('count'), count)),
    exact(words('XINFO', 'STREAM', key)),
    { weight: 3, arbitrary: exact(words('XGROUP', 'DESTROY', key, group)) },
    { weight: 3, arbitrary: exact(words('XGROUP', 'DELCONSUMER', key, group, consumer)) },
    { weight: 2, arbitrary: exact(words('XGROUP', 'CREATECONSUMER', key, group, consumer)) },
    { weight: 5, arbitrary: exact(wordsAndMore(['XDEL', key, anId], anId, 3)) },
    { weight: 3, arbitrary: exact(words('XTRIM', key, 'MAXLEN', fc.nat(3).map(String))) },
    exact(words('XSETID', key, fc.constant(LAST_OF_ALL))),
    exact(words('DEL', key)),
    exact(words('SET', key, 'text')),
    exact(words('RENAME', key, key)),
    exact(words('COPY', key, key, 'REPLACE')),
    exact(words('PEXPIRE', key, fc.constantFrom('100000', '-1'))),
  ),
  1,
  scene,
);
