/** JSON and text bent: values of other types, fields gone, doubled and moved, and broken text. */
import type { Random } from '../../../src/common/random.ts';
import { type Json, pathsOf, replacedAt, valueAt } from '../json-mutations.ts';
import { numberTexts } from './bend-bytes.ts';

const values: readonly Json[] = [
  ...[null, true, false, 0, -1, 1, 0.5, -0.5, 1e300, -1e300, 2 ** 31, 2 ** 32, 2 ** 53, 16_384],
  ...['', ' ', 'x', '\u0000', '\ud800', 'é', '1', 'true', 'null', 'a,b', 'a=b', '../..', '**'],
  ...['__proto__', 'constructor', 'x'.repeat(300), 'x'.repeat(5_000)],
  ...([[], {}, [[]], [null], { a: 1 }, ['x', 'x'], [1, '1']] as Json[]),
];

const names = ['__proto__', 'constructor', 'toString', 'version', 'x', '', 'length', 'a.b', '0'];

export function anyValue(random: Random): Json {
  return values[random.below(values.length)]!;
}

function pick<Item>(items: readonly Item[], random: Random): Item {
  return items[random.below(items.length)]!;
}

/** `value` with one place of it changed; `other` lends values that are right elsewhere. */
export function bendJson(value: Json, other: Json, random: Random): Json {
  const paths = pathsOf(value);
  if (paths.length === 0 || random.below(30) === 0) return anyValue(random);
  const path = pick(paths, random);
  switch (random.below(7)) {
    case 0:
      return replacedAt(value, path, undefined);
    case 1: {
      const name = pick(names, random);
      const parent = path.slice(0, -1);
      if (Array.isArray(valueAt(value, parent))) return replacedAt(value, path, anyValue(random));
      return replacedAt(value, [...parent, name], anyValue(random));
    }
    case 2: {
      const from = pathsOf(other);
      if (from.length === 0) return replacedAt(value, path, other);
      return replacedAt(value, path, valueAt(other, pick(from, random)));
    }
    case 3: {
      const list = valueAt(value, path);
      if (!Array.isArray(list)) return replacedAt(value, path, [valueAt(value, path) ?? null]);
      const many = random.below(20) === 0 ? 2_000 : 3;
      return replacedAt(value, path, Array.from({ length: many }, () => list).flat());
    }
    case 4: {
      const known = valueAt(value, path);
      if (typeof known !== 'number') return replacedAt(value, path, String(known));
      const near = [known + 1, known - 1, -known, known * 2 ** 20, known + 0.5, String(known)];
      return replacedAt(value, path, pick(near, random));
    }
    default:
      return replacedAt(value, path, anyValue(random));
  }
}

const marks = ['{', '}', '[', ']', '"', ',', ':', '\\', '9', '-', 'e', '\u0000', '\n', '\t', '%'];

/** Text with characters gone, doubled, replaced, or deep inside of something. */
export function bendText(text: string, other: string, random: Random): string {
  const at = random.below(text.length + 1);
  const end = at + random.below(9);
  switch (random.below(8)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(0, at) + text.slice(end);
    case 2:
      return text.slice(0, end) + text.slice(at);
    case 3:
      return text.slice(0, at) + pick(marks, random) + text.slice(at + random.below(2));
    case 4: {
      const from = random.below(other.length + 1);
      return text.slice(0, at) + other.slice(from, from + random.below(40)) + text.slice(at);
    }
    case 5: {
      const depth = pick([3, 33, 33, 1_000], random);
      return text.slice(0, at) + pick(['[', '{"a":', '- '], random).repeat(depth) + text.slice(at);
    }
    case 6: {
      const lines = text.split('\n');
      const line = random.below(lines.length);
      const [moved = ''] = lines.splice(line, 1);
      lines.splice(random.below(lines.length + 1), 0, moved, ...(random.below(2) ? [moved] : []));
      return lines.join('\n');
    }
    default: {
      let count = 0;
      const wanted = random.below(8);
      return text.replaceAll(/\d+/g, (found) =>
        count++ === wanted ? pick(numberTexts, random) : found,
      );
    }
  }
}
