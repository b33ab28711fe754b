/** Drawn documents, also with names that JavaScript's objects would take amiss, and where their values are. */
import fc from 'fast-check';
import type { Json } from '../../../../src/datanode/encoding/json/json-value.ts';
import { textOf } from './at-once.ts';

export const names = fc.constantFrom('a', 'b', 'c d', '1', '__proto__', "it's");
/** To be made a text of by `textFrom`. */
export const documents = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 1, 2.5, 'x'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(names, tie('value')), { maxLength: 4 }).map((pairs) => {
      return { pairs };
    }),
  ),
})).value;

export function textFrom(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(textFrom).join()}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const { pairs } = value as { pairs: [string, unknown][] };
  const own = new Map(pairs.map(([name, inner]) => [name, textFrom(inner)]));
  return `{${[...own].map(([name, inner]) => `${JSON.stringify(name)}:${inner}`).join()}}`;
}

/** Every value with its place: `["a"][0]`. */
export function places(value: Json, at = ''): [string, string][] {
  const own: [string, string][] = [[at, textOf(value)]];
  if (Array.isArray(value)) {
    return own.concat(value.flatMap((inner, index) => places(inner, `${at}[${index}]`)));
  }
  if (!(value instanceof Map)) return own;
  return own.concat(
    [...value].flatMap(([name, inner]) => places(inner, `${at}[${JSON.stringify(name)}]`)),
  );
}
