import fc from 'fast-check';
import { differential, exact, inOrder, type Step } from './differential.ts';
import type { Order } from './order.ts';
import { key, option, words, wordsAndMore } from './words.ts';

type Words = fc.Arbitrary<string[]>;

const member = fc.constantFrom('rome', 'paris', 'nyc', 'suva', 'pole', 'x'.repeat(70));
const degrees = (max: number) =>
  fc.oneof(
    { weight: 6, arbitrary: fc.double({ min: -max, max, noNaN: true }).map(String) },
    { weight: 4, arbitrary: fc.double({ min: 12, max: 12.5, noNaN: true }).map(String) },
    { weight: 2, arbitrary: fc.constantFrom('0', '-0', String(max), String(-max), '12.5', '13') },
    fc.constantFrom('1000', 'x', 'inf', '', '-90', '181', '86'),
  );
const longitude = degrees(180);
const latitude = degrees(85.05112878);
const size = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('0', '1', '50', '500', '20000', '200000') },
  { weight: 2, arbitrary: fc.constantFrom('5000000', '30000000', '1e9', '0.5', '7000000') },
  fc.constantFrom('-1', 'x', 'inf', ''),
);
const unit = option('m', 'km', 'ft', 'mi');
const center = fc.oneof(
  { weight: 3, arbitrary: words(option('fromlonlat'), longitude, latitude) },
  { weight: 3, arbitrary: words(option('frommember'), member) },
  fc.constant<string[]>([]),
);
const shape = fc.oneof(
  { weight: 3, arbitrary: words(option('byradius'), size, unit) },
  { weight: 3, arbitrary: words(option('bybox'), size, size, unit) },
  fc.constant<string[]>([]),
);
const join = (...parts: readonly Words[]): Words => fc.tuple(...parts).map((lists) => lists.flat());
const count = words(option('count'), fc.constantFrom('1', '2', '10', '0', '-1', 'x'));
const found = fc
  .array(
    fc.oneof(words(option('withdist', 'withhash', 'withcoord')), count, words(option('any'))),
    { maxLength: 3 },
  )
  .map((lists) => lists.flat());
const sorted = words(option('asc', 'desc'));
const store = words(option('store', 'storedist'), key);

/** The order of what is not sorted depends on how cells are looked through; with ANY so does what. */
const orderOf = (line: readonly string[]): Order => {
  const text = line.map((each) => each.toLowerCase());
  if (text.includes('any')) return 'count';
  return text.includes('asc') || text.includes('desc') || text.includes('count') ? 'scores' : 'set';
};
const search = (line: Words): fc.Arbitrary<Step> =>
  line.map((each) => ({ words: each, order: orderOf(each) }));
const scores = inOrder('scores');

const maybeSorted = fc.oneof(sorted, fc.constant<string[]>([]));
const tail = join(found, maybeSorted);
/** Without ANY, whose choice the comparisons that follow would meet. */
const stored = join(
  fc.oneof(fc.constant<string[]>([]), words(option('withdist')), count),
  maybeSorted,
);
const add = join(
  words('GEOADD', key),
  fc.array(option('nx', 'xx', 'ch'), { maxLength: 1 }).map((list) => [...list]),
  fc
    .array(words(longitude, latitude, member), { minLength: 1, maxLength: 4 })
    .map((lists) => lists.flat()),
);

differential(
  'places',
  fc.oneof(
    { weight: 8, arbitrary: exact(add) },
    { weight: 2, arbitrary: exact(wordsAndMore(['GEOPOS', key, member], member)) },
    { weight: 2, arbitrary: exact(wordsAndMore(['GEOHASH', key, member], member)) },
    { weight: 2, arbitrary: exact(words('GEODIST', key, member, member)) },
    { weight: 2, arbitrary: exact(wordsAndMore(['GEODIST', key, member, member], unit, 2)) },
    { weight: 8, arbitrary: search(join(words('GEOSEARCH', key), center, shape, tail)) },
    {
      weight: 3,
      arbitrary: scores(
        join(
          words('GEOSEARCHSTORE', key, key),
          center,
          shape,
          stored,
          fc.constantFrom<string[]>([], [], ['storedist']),
        ),
      ),
    },
    search(join(words('GEORADIUS', key, longitude, latitude, size, unit), tail)),
    scores(join(words('GEORADIUS', key, longitude, latitude, size, unit), stored, store)),
    search(join(words('GEORADIUS_RO', key, longitude, latitude, size, unit), tail)),
    scores(join(words('GEORADIUS_RO', key, longitude, latitude, size, unit), stored, store)),
    search(join(words('GEORADIUSBYMEMBER', key, member, size, unit), tail)),
    scores(join(words('GEORADIUSBYMEMBER', key, member, size, unit), stored, store)),
    search(join(words('GEORADIUSBYMEMBER_RO', key, member, size, unit), tail)),
    { weight: 3, arbitrary: scores(words('ZRANGE', key, '0', '-1', 'WITHSCORES')) },
    scores(
      words('ZADD', key, fc.constantFrom('0', '-1', '1e15', '1e17', '1e300', 'inf', '1.5'), member),
    ),
    exact(words('ZREM', key, member)),
    exact(words('SET', key, member)),
    exact(words('DEL', key)),
    exact(words('OBJECT', 'ENCODING', key)),
  ),
);
