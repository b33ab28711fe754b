import fc from 'fast-check';
import { emptySketch } from '../../src/datanode/encoding/sketches/hyperloglog.ts';
import { bending } from '../fuzz/bytes.ts';
import { differential, exact, inSeconds, type Step } from './differential.ts';
import { key, member, words, wordsAndMore } from './words.ts';

/** From one element to thousands, so that sketches of every size come up, dense ones too. */
const manyElements = fc
  .tuple(
    fc.constantFrom('', 'x', 'a long prefix of elements '),
    fc.nat(5_000),
    fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 1, max: 60 }) },
      fc.integer({ min: 100, max: 3_000 }),
    ),
  )
  .map(([prefix, first, count]) =>
    Array.from({ length: count }, (_, at) => `${prefix}${first + at}`),
  );

const add = fc
  .tuple(key, fc.oneof(manyElements, fc.array(member, { maxLength: 4 })))
  .map(([name, elements]) => ['PFADD', name, ...elements]);

/** Bytes that look like a sketch, or almost. */
const sketch = fc.oneof(
  fc
    .constantFrom(
      '48594c4c',
      '48594c4c01000000',
      '48594c4c010000000000000000000080',
      '48594c4c0100000000000000000000807fff80',
      '48594c4c0100000000000000000000807ffe80',
      '48594c4c010000000000000000000080bfffff7fbfff',
      '48594c4c0200000000000000000000007fff',
      `48594c4c0000000000000000000000${'80'.repeat(12_289)}`,
      `48594c4c0000000000000000000000${'80'.repeat(12_288)}`,
    )
    .map((hex) => Buffer.from(hex, 'hex')),
  bending.map((bend) => bend(emptySketch())),
);

/** Redis reads and writes beyond the end of a sketch that ends within a run of two bytes. */
function endsWithinRun(bytes: Buffer): boolean {
  let at = 16;
  while (at < bytes.length) at += (bytes[at]! & 0xc0) === 0x40 ? 2 : 1;
  return bytes[4] === 1 && at > bytes.length && bytes.length > 16;
}

const setSketch: fc.Arbitrary<Step> = fc
  .tuple(
    key,
    sketch.filter((bytes) => !endsWithinRun(bytes)),
  )
  .map(([name, bytes]) => ({ words: ['SET', name, bytes] }));
/** A failing PFADD leaves nothing behind here; in Redis the elements before the failing one. */
const addOne = words('PFADD', key, member);

const common = [
  exact(wordsAndMore(['PFMERGE', key], key)),
  exact(words('SET', key, member)),
  exact(words('DEL', key)),
  exact(words('EXPIRE', key, '1000')),
  inSeconds(words('TTL', key)),
  exact(words('STRLEN', key)),
];

const severalKeys = wordsAndMore(['PFCOUNT', key, key], key);
const bare = exact(fc.constantFrom(['PFADD'], ['PFCOUNT'], ['PFMERGE']));

differential(
  'sketches',
  fc.oneof(
    { weight: 8, arbitrary: exact(add) },
    { weight: 6, arbitrary: exact(words('GET', key)) },
    { weight: 3, arbitrary: exact(severalKeys) },
    exact(words('OBJECT', 'ENCODING', key)),
    ...common,
    bare,
  ),
  0.3,
);

differential(
  'sketches as they are counted',
  fc.oneof(
    { weight: 4, arbitrary: exact(add) },
    { weight: 8, arbitrary: exact(words('PFCOUNT', key)) },
    { weight: 3, arbitrary: exact(severalKeys) },
    { weight: 3, arbitrary: exact(words('GETRANGE', key, '16', '-1')) },
    ...common,
  ),
  0.3,
);

differential(
  'corrupt sketches',
  fc.oneof(
    { weight: 6, arbitrary: setSketch },
    { weight: 3, arbitrary: exact(addOne) },
    { weight: 3, arbitrary: exact(words('PFCOUNT', key)) },
    { weight: 3, arbitrary: exact(severalKeys) },
    { weight: 2, arbitrary: exact(words('GETRANGE', key, '16', '-1')) },
    ...common,
  ),
  0.4,
);
