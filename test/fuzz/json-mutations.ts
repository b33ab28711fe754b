/** JSON values bent at one place: what a record looks like after somebody else wrote it. */
import fc from 'fast-check';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Path = readonly (string | number)[];

/** Every place below the root. */
export function pathsOf(value: Json, base: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [];
  const entries: [string | number, Json][] = Array.isArray(value)
    ? value.map((item, at) => [at, item])
    : Object.entries(value);
  return entries.flatMap(([key, child]) => [[...base, key], ...pathsOf(child, [...base, key])]);
}

export function valueAt(value: Json, path: Path): Json | undefined {
  let found: Json | undefined = value;
  for (const key of path) found = (found as Record<string | number, Json> | undefined)?.[key];
  return found;
}

/** A copy with `replacement` at `path`; undefined takes the place away. */
export function replacedAt(value: Json, path: Path, replacement: Json | undefined): Json {
  const copy = JSON.parse(JSON.stringify(value)) as Json;
  const last = path.at(-1)!;
  const parent = valueAt(copy, path.slice(0, -1)) as Record<string | number, Json>;
  // by definition, so that __proto__ is a name like any other
  const own = { value: replacement, writable: true, enumerable: true, configurable: true };
  if (replacement !== undefined) Object.defineProperty(parent, last, own);
  else if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else delete parent[last];
  return copy;
}

export function typeOf(value: Json | undefined): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** Any JSON value, also with names that objects have by themselves. */
export const anyJson: fc.Arbitrary<Json> = fc.oneof(
  fc.jsonValue() as fc.Arbitrary<Json>,
  fc.constantFrom<Json>(-1, 0.5, 1e300, 2 ** 53, '', 'x', [], {}, null, true, [[]], [null]),
  fc
    .constantFrom('__proto__', 'constructor', 'toString', 'version')
    .map((name) => JSON.parse(`{${JSON.stringify(name)}: {"version": 1}}`) as Json),
);

/** `text` with some of its characters gone, doubled or replaced. */
export function bentText(text: string): fc.Arbitrary<string> {
  const place = fc.nat(text.length);
  return fc.oneof(
    place.map((at) => text.slice(0, at)),
    place.map((at) => text.slice(at)),
    fc.tuple(place, fc.nat(8)).map(([at, count]) => text.slice(0, at) + text.slice(at + count)),
    fc
      .tuple(place, fc.string({ maxLength: 6, unit: 'binary' }))
      .map(([at, more]) => text.slice(0, at) + more + text.slice(at)),
    fc
      .tuple(place, fc.constantFrom('{', '}', '[', ']', '"', ',', ':', '\\', '9', '-', 'e'))
      .map(([at, one]) => text.slice(0, at) + one + text.slice(at + 1)),
    fc
      .tuple(place, fc.constantFrom('[', '{"a":'), fc.constantFrom(33, 1_000, 100_000))
      .map(([at, open, count]) => text.slice(0, at) + open.repeat(count) + text.slice(at)),
  );
}
