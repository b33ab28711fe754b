/** Metadata records that somebody else wrote: refused by name, or exactly what was written. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KvorumError } from '../../src/common/errors.ts';
import { limits } from '../../src/common/limits.ts';
import { ClusterView } from '../../src/datanode/coordinator/cluster-view.ts';
import { MutableRouteTable } from '../../src/datanode/routing/route-table.ts';
import { decodeRecord, type RecordKind, recordKinds } from '../../src/meta/records.ts';
import { encodeRecord, keys } from '../../src/meta/schema.ts';
import type { MetaEvent, MetaItem } from '../../src/meta/store.ts';
import { Picture } from '../../src/placedriver/picture.ts';
import { partitionRecord } from '../datanode/routing/records.ts';
import { scale } from '../scale.ts';
import {
  anyJson,
  bentText,
  type Json,
  pathsOf,
  replacedAt,
  typeOf,
  valueAt,
} from './json-mutations.ts';
import { type StoredRecord, storedRecord } from './metadata-records.ts';
import { check } from './property.ts';

const runs = scale.fuzzMetadata;
const textOf = ({ record }: StoredRecord) => JSON.stringify(record);

/** What decoding gave, or the text of its refusal; anything else thrown fails the test. */
function outcomeOf(
  { kind, key }: StoredRecord,
  value: string,
): { record?: unknown; refusal?: string } {
  try {
    return { record: decodeRecord(kind, key, value) };
  } catch (failure) {
    expect(failure).toBeInstanceOf(KvorumError);
    const { code, message } = failure as KvorumError;
    expect(code).toBe('BAD_RECORD');
    expect(message).toMatch(/^metadata .+; .+$/s);
    expect(message).toContain(key);
    expect(message.length).toBeLessThan(key.length + 1_000);
    return { refusal: message };
  }
}

describe('a metadata record', () => {
  test('is read as it was written, with what a newer build added', () => {
    const more = fc.dictionary(fc.stringMatching(/^new[A-Z][a-z]*$/), anyJson);
    check(
      runs,
      fc.property(storedRecord, more, (stored, added) => {
        const value = JSON.stringify({ ...added, ...stored.record });
        expect(outcomeOf(stored, value)).toEqual({ record: JSON.parse(value) });
      }),
    );
  });

  test('with a field missing, or of another type, is refused by the name of the field', () => {
    const bent = storedRecord.chain((stored) => {
      const paths = pathsOf(stored.record as Json).filter((path) => path[0] !== 'version');
      return fc.tuple(fc.constant(stored), fc.constantFrom(...paths), fc.option(anyJson));
    });
    check(
      runs,
      fc.property(bent, ([stored, path, replacement]) => {
        const known = valueAt(stored.record as Json, path)!;
        const item = typeof path.at(-1) === 'number' || path[0] === 'tags';
        if (replacement === null && item && path.at(-1) !== 'tags') return; // shorter, but whole
        if (replacement !== null && typeOf(replacement) === typeOf(known)) return;
        const value = replacedAt(stored.record as Json, path, replacement ?? undefined);
        expect(outcomeOf(stored, JSON.stringify(value)).refusal).toContain(path.join('.'));
      }),
    );
  });

  test('of bent text is refused, or has every field with its type', () => {
    const bent = storedRecord.chain((stored) =>
      fc.tuple(fc.constant(stored), fc.oneof(bentText(textOf(stored)), fc.string(), fc.json())),
    );
    check(
      runs,
      fc.property(bent, ([stored, value]) => {
        const { record } = outcomeOf(stored, value);
        if (record === undefined) return;
        for (const [field, known] of Object.entries(stored.record)) {
          expect(typeOf((record as Record<string, Json>)[field])).toBe(typeOf(known));
        }
        expect(stored.kind.keyOf(record)).toBe(stored.key);
      }),
    );
  });

  test('may be neither huge nor deep nor of a newer version', () => {
    const key = keys.partition('default', 0);
    const record = { ...partitionRecord(0, 1), replicas: Array.from({ length: 200_000 }, () => 1) };
    const stored = { kind: recordKinds.partition, key, record } as never as StoredRecord;
    expect(outcomeOf(stored, encodeRecord(record as never)).refusal).toMatch(/replicas: Too big/);
    const long = `"${'x'.repeat(limits.metaValueBytesMax)}"`;
    expect(outcomeOf(stored, long).refusal).toMatch(/characters, more than/);
    const deep = `{"version":1,"more":${'['.repeat(5_000)}${']'.repeat(5_000)}}`;
    expect(outcomeOf(stored, deep).refusal).toMatch(/nested deeper/);
    const newer = JSON.stringify({ ...record, version: 2 });
    expect(outcomeOf(stored, newer).refusal).toMatch(/version 2, this build reads 1; upgrade/);
  });
});

/** A change of the store: a value put somewhere, or a key gone. */
const change: fc.Arbitrary<{ key: string; value: string | undefined }> = fc.oneof(
  storedRecord.map((stored) => ({ key: stored.key, value: textOf(stored) })),
  storedRecord.chain((stored) =>
    fc.record({ key: fc.constant(stored.key), value: bentText(textOf(stored)) }),
  ),
  fc.nat(3).chain((number) =>
    fc.record({
      key: fc.constant(keys.partition('default', number)),
      value: fc.option(
        fc.oneof(
          fc.constant(encodeRecord(wholePartition(number))),
          fc.constant(encodeRecord({ ...wholePartition(number), firstSlot: 7 } as never)),
          bentText(encodeRecord(wholePartition(number))),
        ),
        { nil: undefined },
      ),
    }),
  ),
  fc.constantFrom('ready":true', 'ready":3').map((ready) => ({
    key: keys.namespace('default'),
    value: encodeRecord(namespace).replace('ready":true', ready),
  })),
);

const namespace = {
  version: 1,
  name: 'default',
  kind: 'redis',
  hash: 'slots',
  partitions: 4,
  replicas: 1,
  expiry: 'consistent',
  ready: true,
} as const;

function wholePartition(number: number) {
  const replicas = [{ replica: number + 1, node: 'a', incarnation: 'one' }];
  return { ...partitionRecord(number, 4), birth: replicas, replicas };
}

const itemsOf = (store: ReadonlyMap<string, string>, revision: number): MetaItem[] =>
  [...store].map(([key, value]) => ({ key, value, createRevision: 1, modRevision: revision }));

describe('who watches records', () => {
  test('keeps the last one that could be read, and never half a table', () => {
    const steps = fc.array(fc.tuple(change, fc.boolean()), { maxLength: 40 });
    check(
      Math.ceil(runs / 4),
      fc.property(steps, (changes) => {
        const store = new Map<string, string>();
        const good = new Map<string, unknown>();
        const problems: string[] = [];
        const view = new ClusterView((problem) => problems.push(problem));
        const picture = new Picture((problem) => problems.push(problem));
        const routes = new MutableRouteTable();
        changes.forEach(([{ key, value }, relists], at) => {
          const before = problems.length;
          const record = value !== undefined ? recordIn(key, value) : undefined;
          if (value === undefined) store.delete(key);
          else store.set(key, value);
          if (value === undefined) good.delete(key);
          else if (record !== undefined) good.set(key, record);
          tell(view, picture, store, { key, value, at, relists });
          const bad = record === undefined && watched.some(([prefix]) => key.startsWith(prefix));
          if (value !== undefined && bad) {
            expect(problems.slice(before).join('\n')).toContain(key);
          }
          expectKept(good, view, picture);
          for (const { record: newest } of picture.partitions()) {
            const { namespace: name, partition } = newest;
            expect(newest).toEqual(JSON.parse(store.get(keys.partition(name, partition))!));
          }
          routes.setPartitions(view.partitions());
          expectWhole(routes);
        });
      }),
    );
  });
});

const watched: readonly (readonly [string, RecordKind<unknown>])[] = [
  [keys.nodes, recordKinds.node],
  [keys.incarnations, recordKinds.incarnation],
  [keys.namespaces, recordKinds.namespace],
  [keys.partitions, recordKinds.partition],
  [keys.leaders, recordKinds.leader],
  [keys.damages, recordKinds.damage],
];

/** What a reader makes of the value; undefined: nothing. */
function recordIn(key: string, value: string): unknown {
  const kind = watched.find(([prefix]) => key.startsWith(prefix))?.[1];
  if (kind === undefined) return undefined;
  try {
    return decodeRecord(kind, key, value);
  } catch {
    return undefined;
  }
}

function tell(
  view: ClusterView,
  picture: Picture,
  store: ReadonlyMap<string, string>,
  news: { key: string; value: string | undefined; at: number; relists: boolean },
): void {
  const { key, value, at, relists } = news;
  if (relists) {
    for (const watcher of [view, picture]) watcher.list(itemsOf(store, at));
    return;
  }
  const event: MetaEvent =
    value === undefined
      ? { type: 'delete', key, modRevision: at }
      : { type: 'put', item: { key, value, createRevision: at, modRevision: at } };
  for (const watcher of [view, picture]) watcher.apply([event]);
}

function expectKept(good: ReadonlyMap<string, unknown>, view: ClusterView, picture: Picture): void {
  const below = (prefix: string) =>
    [...good].flatMap(([key, record]) => (key.startsWith(prefix) ? [record] : []));
  const sorted = (records: readonly unknown[]) => records.map((one) => JSON.stringify(one)).sort();
  expect(sorted(picture.aliveNodes())).toEqual(sorted(below(keys.nodes)));
  expect(sorted(picture.damages())).toEqual(sorted(below(keys.damages)));
  expect(sorted(view.image().leaders)).toEqual(sorted(below(keys.leaders)));
  for (const record of below(keys.nodes) as { node: string }[]) {
    expect(view.isAlive(record.node)).toBe(true);
    expect(view.addresses().get(record.node)).toEqual(record);
  }
}

/** Doors and router take it for granted that every slot leads to a partition. */
function expectWhole(routes: MutableRouteTable): void {
  for (const name of routes.namespaces()) {
    const partitions = routes.partitions(name)!;
    for (let slot = 0; slot < 16_384; slot += 64) {
      const number = routes.partitionOfSlot(name, slot)!;
      const { partition, firstSlot, lastSlot } = partitions[number]!;
      expect(partition).toBe(number);
      expect(slot).toBeGreaterThanOrEqual(firstSlot);
      expect(slot).toBeLessThanOrEqual(lastSlot);
    }
  }
}
