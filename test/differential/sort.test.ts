import fc from 'fast-check';
import { differential, exact, inSeconds } from './differential.ts';
import { integerWord, key, option, words, wordsAndMore } from './words.ts';

const number = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -3, max: 12 }).map(String) },
  fc.integer({ min: -8, max: 8 }).map((value) => String(value / 4)),
  fc.constantFrom('inf', '-inf', ' 7', '+2', '0x10', '1e1', '01', '9223372036854775807', ''),
);
const element = fc.oneof(
  { weight: 30, arbitrary: number },
  fc.constantFrom('a', 'b', 'nan', 'héllo', 'x'.repeat(70), '1 ', ' '),
);

const pattern = fc.constantFrom('w_*', 'name_*', 'nosort', '#', '*', 'w_*->f', '*_', 'w_*->');
const sortOption = fc.oneof(
  option('asc', 'desc', 'alpha').map((text) => [text]),
  fc.tuple(option('by'), pattern),
  fc.tuple(option('get'), pattern),
  fc.tuple(option('limit'), integerWord, integerWord),
  fc.tuple(option('store'), key),
  { weight: 1, arbitrary: option('by', 'get', 'limit', 'store').map((text) => [text]) },
);

/** Ties of texts that BY names: their order is that of an unstable sort where there is a LIMIT. */
function hasFreeOrder(options: readonly string[]): boolean {
  const texts = options.map((text) => text.toLowerCase());
  return ['by', 'limit', 'alpha'].every((text) => texts.includes(text));
}

const sort = fc
  .tuple(option('sort', 'sort_ro'), key, fc.array(sortOption, { maxLength: 4 }))
  .map(([name, source, options]) => [name, source, ...options.flat()])
  .filter(([name, , ...options]) => name !== 'nonsense' && !hasFreeOrder(options));

const weight = fc
  .tuple(fc.constantFrom('w_', 'name_'), fc.integer({ min: -3, max: 12 }), element)
  .map(([prefix, name, value]) => ['SET', `${prefix}${name}`, value]);

differential(
  'SORT',
  fc.oneof(
    { weight: 4, arbitrary: exact(wordsAndMore(['RPUSH', key, number], number, 12)) },
    { weight: 1, arbitrary: exact(wordsAndMore(['RPUSH', key, element], element, 12)) },
    { weight: 6, arbitrary: exact(weight) },
    { weight: 12, arbitrary: exact(sort) },
    { weight: 2, arbitrary: exact(words('LRANGE', key, '0', '-1')) },
    exact(words('DEL', key)),
    exact(words('LPOP', key)),
    exact(words('TYPE', key)),
    inSeconds(words('TTL', key)),
    exact(words('EXPIRE', key, '1000')),
    exact(words('SET', key, element)),
  ),
);
