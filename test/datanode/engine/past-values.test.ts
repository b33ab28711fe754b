/** What is remembered for states that are held: how much that is, and who loses it when it is too much. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type PastLayer,
  type PastReader,
  PastValues,
} from '../../../src/datanode/engine/past-values.ts';

interface Held extends PastReader {
  readonly layer: PastLayer;
}

/** Readers in the order in which they began; one that loses what it needs is among them no more. */
class Readers {
  readonly held: Held[] = [];
  readonly past: PastValues;
  lost = 0;

  constructor(bytesMax: number) {
    this.past = new PastValues(bytesMax);
  }

  begin(): void {
    const reader = { lose: () => this.#lose(reader as Held) } as Held;
    this.held.push(Object.assign(reader, { layer: this.past.begin([reader]) }));
  }

  leave(reader: Held): void {
    this.held.splice(this.held.indexOf(reader), 1);
    this.past.leave(reader.layer, reader);
  }

  #lose(reader: Held): void {
    this.lost++;
    this.leave(reader);
  }

  /** Of all layers that somebody may look into: those from the first reader's on. */
  get layerBytes(): number {
    let bytes = 0;
    for (let at = this.held[0]?.layer; at !== undefined; at = at.next) bytes += at.bytes;
    return bytes;
  }
}

const step = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ kind: 'begin' } as const) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), at: fc.nat(20) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('note' as const),
      name: fc.constantFrom(...'abcdefghij'),
      bytes: fc.option(fc.nat(400), { nil: undefined }),
    }),
  },
);

test('what it counts is what its layers take, whatever joins and whoever leaves', () => {
  let lost = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 30, maxLength: 60 }), (steps) => {
      const readers = new Readers(1_000);
      for (const one of steps) {
        const { held, past } = readers;
        if (one.kind === 'begin') readers.begin();
        else if (one.kind === 'note') {
          past.note(one.name, one.bytes === undefined ? undefined : Buffer.alloc(one.bytes));
        } else if (held.length > 0) readers.leave(held[one.at % held.length]!);
        expect(past.bytes).toBe(readers.layerBytes);
        expect(past.bytes).toBeLessThanOrEqual(1_000);
      }
      lost += readers.lost;
      for (const reader of [...readers.held]) readers.leave(reader);
      expect(readers.past.bytes).toBe(0);
    }),
    { numRuns: 200 },
  );
  expect(lost, 'the bound was met').toBeGreaterThan(0);
});
