import fc from 'fast-check';
import { differential, exact, inOrder, inSeconds, type Step } from './differential.ts';
import { doubleWord, integerWord, key, member, option, words, wordsAndMore } from './words.ts';

type Words = fc.Arbitrary<string[]>;

const scores = inOrder('scores');
const count = inOrder('count');

const score = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('0', '1', '1.5', '2', '-2', '-0', 'inf', '-inf') },
  doubleWord,
  fc.constantFrom('1e21', '1e-7', '1e100', '3e17', '123456789012345678', '0x10', '1e-320', '.5'),
);
const scoreBound = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(fc.constantFrom('', '('), score).map((both) => both.join('')) },
  fc.constantFrom('-inf', '+inf', '(inf', '', '(', ' 1', '1 ', 'nan'),
);
const lexBound = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(fc.constantFrom('[', '('), member).map((both) => both.join('')),
  },
  { weight: 2, arbitrary: fc.constantFrom('-', '+') },
  fc.constantFrom('', 'a', '-a', '+a', '(', '['),
);

/**
 * What a range of members means where scores differ is known for the small encoding only (see
 * exceptions.ts): so these ranges are asked for where all scores are 0, and where all members are
 * short, under keys that nothing else is written to.
 */
const lexKey = fc.constantFrom('l0', 'l1', 'm0', 'm1');
const shortMember = member.filter((text) => text.length < 20);
const lexWrites = [
  words('ZADD', fc.constantFrom('l0', 'l1'), '0', member, '0', member, '0', member),
  words('ZADD', fc.constantFrom('m0', 'm1'), score, shortMember, score, shortMember),
] as const;

/** Words that follow each other, each sequence there or not. */
const maybe = (...parts: readonly Words[]): Words =>
  fc.array(fc.oneof(...parts), { maxLength: 2 }).map((lists) => lists.flat());
const join = (...parts: readonly Words[]): Words => fc.tuple(...parts).map((lists) => lists.flat());

const many = (arbitrary: Words, maxLength = 5): Words =>
  fc.array(arbitrary, { minLength: 1, maxLength }).map((lists) => lists.flat());
const limit = words(option('limit'), integerWord, integerWord);
const addOption = fc
  .array(option('nx', 'xx', 'gt', 'lt', 'ch', 'incr'), { maxLength: 2 })
  .map((list) => [...list]);
const noOption = fc.constant<string[]>([]);
const add = join(
  words('ZADD', key),
  fc.oneof({ weight: 3, arbitrary: noOption }, addOption),
  many(words(score, member)),
);
const keys = fc
  .tuple(fc.array(key, { minLength: 1, maxLength: 3 }), fc.integer({ min: -1, max: 12 }))
  .map(([list, wrong]) => [String(wrong > 3 ? list.length : wrong), ...list]);
const combineOption = maybe(
  words(option('weights'), score, score),
  words(option('weights'), score),
  words(option('aggregate'), option('sum', 'min', 'max')),
  words(option('withscores')),
  words(option('limit'), integerWord),
);
const combine = (name: string) => scores(join(words(name), keys, combineOption));
const combineStore = (name: string) => scores(join(words(name, key), keys, combineOption));

const lexRange = (name: string, ...options: readonly Words[]) =>
  scores(
    join(
      words(name, lexKey, lexBound, lexBound),
      maybe(words(option('withscores')), limit, ...options),
    ),
  );
const range = (name: string, bound: fc.Arbitrary<string>, ...options: readonly Words[]) =>
  scores(
    join(words(name, key, bound, bound), maybe(words(option('withscores')), limit, ...options)),
  );
const anyBound = fc.oneof(integerWord, scoreBound, lexBound);
const rangeOptions = [
  words(option('byscore')),
  words(option('rev')),
  words(fc.constant('BYSCORE'), fc.constant('REV')),
] as const;
const lexOptions = [words(option('bylex')), words(option('rev'))] as const;

const writes = [
  scores(words('ZINCRBY', key, score, member)),
  scores(wordsAndMore(['ZREM', key, member], member)),
  scores(words('ZREMRANGEBYRANK', key, integerWord, integerWord)),
  scores(words('ZREMRANGEBYSCORE', key, scoreBound, scoreBound)),
  scores(words('ZREMRANGEBYLEX', lexKey, lexBound, lexBound)),
  scores(wordsAndMore(['ZPOPMIN', key], integerWord, 2)),
  scores(wordsAndMore(['ZPOPMAX', key], integerWord, 2)),
  scores(
    join(
      words('ZMPOP'),
      keys,
      words(option('min', 'max')),
      maybe(words(option('count'), integerWord)),
    ),
  ),
  scores(join(words('ZRANGESTORE', key, key, anyBound, anyBound), maybe(limit, ...rangeOptions))),
  scores(
    join(words('ZRANGESTORE', key, key, scoreBound, scoreBound), words('byscore'), maybe(limit)),
  ),
  scores(words('ZRANGESTORE', key, key, integerWord, integerWord)),
  scores(
    join(
      words('ZRANGESTORE', fc.oneof(key, fc.constant('l1')), fc.constantFrom('l0', 'l1')),
      words(lexBound, lexBound),
      maybe(limit, ...lexOptions),
    ),
  ),
  combineStore('ZUNIONSTORE'),
  combineStore('ZINTERSTORE'),
  combineStore('ZDIFFSTORE'),
];

const reads = [
  scores(words('ZCARD', key)),
  scores(words('ZSCORE', key, member)),
  scores(wordsAndMore(['ZMSCORE', key, member], member)),
  scores(words('ZRANK', key, member)),
  scores(words('ZREVRANK', key, member)),
  scores(words('ZCOUNT', key, scoreBound, scoreBound)),
  scores(words('ZLEXCOUNT', lexKey, lexBound, lexBound)),
  range('ZRANGE', integerWord, ...rangeOptions),
  range('ZRANGE', anyBound, ...rangeOptions),
  lexRange('ZRANGE', ...lexOptions),
  range('ZRANGEBYSCORE', scoreBound),
  range('ZREVRANGEBYSCORE', scoreBound),
  lexRange('ZRANGEBYLEX'),
  lexRange('ZREVRANGEBYLEX'),
  range('ZREVRANGE', integerWord),
  combine('ZUNION'),
  combine('ZINTER'),
  combine('ZDIFF'),
  combine('ZINTERCARD'),
  count(words('ZRANDMEMBER', key)),
  count(
    words(
      'ZRANDMEMBER',
      key,
      integerWord.filter((word) => !/^-\d{9}/.test(word)),
    ),
  ),
  count(
    words(
      'ZRANDMEMBER',
      key,
      fc.constantFrom('-5', '2', '0', '9223372036854775807', 'x'),
      option('withscores'),
    ),
  ),
];

const scan = join(
  words('ZSCAN', key, fc.constantFrom('0', '0', '0', 'x')),
  words(fc.constant('COUNT'), fc.constantFrom('1000', '1000', '0', 'x')),
  maybe(words(option('match'), fc.constantFrom('*', 'a', '[a-c]', '?'))),
).map((line): Step => ({ words: line, order: 'scanScores' }));

differential(
  'sorted sets',
  fc.oneof(
    { weight: 10, arbitrary: scores(add) },
    { weight: 4, arbitrary: scores(fc.oneof(...lexWrites)) },
    { weight: 14, arbitrary: fc.oneof(...writes) },
    { weight: 22, arbitrary: fc.oneof(...reads) },
    scan,
    exact(words('SET', key, member)),
    exact(words('GET', key)),
    exact(words('TYPE', key)),
    exact(words('DEL', key)),
    exact(words('RENAME', key, key)),
    exact(wordsAndMore(['COPY', key, key], option('replace'), 1)),
    exact(words('EXPIRE', key, fc.constantFrom('1000', '-1'))),
    inSeconds(words('TTL', key)),
    { weight: 2, arbitrary: exact(words('OBJECT', 'ENCODING', key)) },
  ),
);

/** Sets of some thousand members, whose ranks are counted. */
const bulk = fc
  .tuple(fc.integer({ min: 300, max: 1_500 }), fc.integer({ min: 1, max: 5_000 }), fc.nat(3_000))
  .map(([length, factor, first]) =>
    Array.from({ length }, (_, at) => [String(((first + at) * factor) % 997), `m${first + at}`]),
  );
const manyOf = (name: string, set: fc.Arbitrary<string>, withScores: boolean): Words =>
  fc
    .tuple(set, bulk)
    .map(([key, pairs]) => [name, key, ...pairs.flatMap((pair) => pair.slice(withScores ? 0 : 1))]);
const largeKey = fc.constantFrom('big', 'big', 'other');
const largeMember = fc.nat(4_500).map((number) => `m${number}`);
const largeRank = fc.integer({ min: -4_600, max: 4_600 }).map(String);
const largeScore = fc.integer({ min: -5, max: 1_000 }).map(String);
const largeLimit = words(fc.constant('limit'), fc.nat(3_000).map(String), fc.constant('5'));

differential(
  'large sorted sets',
  fc.oneof(
    { weight: 4, arbitrary: scores(manyOf('ZADD', largeKey, true)) },
    { weight: 2, arbitrary: scores(manyOf('ZREM', largeKey, false)) },
    { weight: 3, arbitrary: scores(words('ZADD', largeKey, largeScore, largeMember)) },
    { weight: 3, arbitrary: scores(words('ZRANK', largeKey, largeMember)) },
    { weight: 3, arbitrary: scores(words('ZREVRANK', largeKey, largeMember)) },
    { weight: 3, arbitrary: scores(words('ZCOUNT', largeKey, largeScore, largeScore)) },
    scores(words('ZREMRANGEBYRANK', largeKey, largeRank, largeRank)),
    scores(words('ZREMRANGEBYSCORE', largeKey, largeScore, largeScore)),
    scores(words('ZRANGE', largeKey, largeRank, largeRank)),
    scores(words('ZREVRANGE', largeKey, largeRank, largeRank, 'withscores')),
    scores(join(words('ZRANGEBYSCORE', largeKey, largeScore, fc.constant('inf')), largeLimit)),
    scores(join(words('ZREVRANGEBYSCORE', largeKey, fc.constant('inf'), largeScore), largeLimit)),
    scores(words('ZPOPMIN', largeKey, fc.constantFrom('1', '700'))),
    scores(words('ZPOPMAX', largeKey, fc.constantFrom('1', '700'))),
    scores(words('ZUNIONSTORE', largeKey, '2', 'big', 'other')),
    scores(words('ZINTERSTORE', 'other', '2', 'big', 'other')),
    scores(words('ZDIFFSTORE', 'other', '2', 'big', 'other')),
    scores(words('ZRANGESTORE', 'other', 'big', largeRank, largeRank)),
    count(words('ZRANDMEMBER', largeKey, fc.constantFrom('3', '-3', '900'))),
    scores(words('RENAME', 'big', fc.constantFrom('other', '{t}1'))),
    scores(words('COPY', 'big', 'other', 'REPLACE')),
    scores(words('OBJECT', 'ENCODING', largeKey)),
  ),
  0.02,
);
