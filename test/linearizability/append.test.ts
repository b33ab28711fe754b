import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cpuMsOf } from '../cpu-time.ts';
import { scale } from '../scale.ts';
import { findAnomalies, type Step, type Transaction } from './append.ts';

/** `0-5 a1 b2 ra=12`: pushes 1 to a, 2 to b, reads a; `!` behind the times: refused. */
function parse(text: string): readonly Transaction[] {
  return text
    .trim()
    .split('\n')
    .map((raw) => {
      const line = raw.trim();
      const [times = '', ...words] = line.split(' ');
      const [from, to = ''] = times.replace('!', '').split('-');
      return {
        label: line,
        refused: times.endsWith('!'),
        invokedMs: Number(from),
        returnedMs: to === '' ? Number.POSITIVE_INFINITY : Number(to),
        steps: words.map((word): Step => {
          const [, key = '', items = ''] = /^r(\w)=(.*)$/.exec(word) ?? [];
          if (key !== '') return { kind: 'read', key, items: [...items] };
          return { kind: 'append', key: word[0]!, element: word[1]! };
        }),
      };
    });
}

const good: Readonly<Record<string, string>> = {
  'reads that grow': '0-1 a1\n2-3 ra=1\n4-5 a2\n6-7 ra=12',
  'pushes beside each other': '0-9 a1\n0-9 a2\n10-11 ra=21',
  'a read beside a push': '0-9 a1\n2-3 ra=\n4-5 ra=1',
  'a push that nobody read, behind all': '0-1 a1\n2-3 ra=1\n4-5 a2',
  'an unknown push that is seen': '0- a1\n5-6 ra=\n7-8 ra=1',
  'a refused push that is not seen': '0-1! a1\n2-3 ra=',
  'a transaction reads its own push': '0-1 a1 ra=1 b1\n2-3 ra=1 rb=1',
};

const bad: Readonly<Record<string, readonly [string, string]>> = {
  'a push that is lost': ['real time', '0-1 a1\n2-3 ra='],
  'a push that is lost behind another': ['real time', '0-1 a1\n2-3 a2\n4-5 ra=1'],
  'an element twice': ['duplicate element', '0-1 a1\n2-3 ra=11'],
  'an element of nobody': ['element of nobody', '0-1 ra=7'],
  'what was refused is seen': ['aborted read', '0-1! a1\n2-3 ra=1'],
  'reads that disagree': ['reads that disagree', '0-9 a1\n0-9 a2\n10-11 ra=1\n12-13 ra=21'],
  'a read that goes back': ['real time', '0-9 a1\n2-3 ra=1\n4-5 ra='],
  'pushes against the order of time': ['real time', '0-1 a1\n2-3 a2\n4-5 ra=21'],
  'a transaction that misses its push': ['own push not read', '0-1 a1 ra=\n2-3 ra=1'],
  'orders of two lists that contradict': ['G0', '0-9 a1 b1\n0-9 a2 b2\n10-11 ra=12 rb=21'],
  'each reads what the other pushed': ['G1c', '0-9 a1 rb=1\n0-9 b1 ra=1'],
  'half of a transaction': ['G-single', '0-9 a1 b1\n0-9 ra=1 rb='],
  'two that each miss the other': ['G2', '0-9 a1 rb=\n0-9 b1 ra=\n10-11 ra=1 rb=1'],
};

describe('lists that only grow', () => {
  test.each(Object.entries(good))('%s', (_name, text) => {
    expect(findAnomalies(parse(text))).toEqual([]);
  });

  test.each(Object.entries(bad))('%s', (_name, [kind, text]) => {
    expect(findAnomalies(parse(text)).map((anomaly) => anomaly.kind)).toContain(kind);
  });

  test('a cycle is shown', () => {
    const [found] = findAnomalies(parse('0-9 a1 rb=1\n0-9 b1 ra=1'));
    expect(found?.what).toBe('0-9 a1 rb=1 –wr→ 0-9 b1 ra=1 –wr→ 0-9 a1 rb=1');
  });

  test('pushes of the same element are not for this check', () => {
    expect(() => findAnomalies(parse('0-1 a1\n2-3 a1'))).toThrow('elements are unique');
  });
});

interface Drawn {
  readonly steps: readonly { readonly key: string; readonly push: boolean }[];
  readonly before: number;
  readonly behind: number;
}

const drawn: fc.Arbitrary<Drawn> = fc.record({
  before: fc.nat({ max: 40 }),
  behind: fc.nat({ max: 40 }),
  steps: fc.array(fc.record({ key: fc.constantFrom('a', 'b', 'c'), push: fc.boolean() }), {
    minLength: 1,
    maxLength: 4,
  }),
});

/** One takes effect every 10 ms. */
function happen(all: readonly Drawn[]): Transaction[] {
  const lists = new Map<string, string[]>();
  let element = 0;
  return all.map(({ steps, before, behind }, at) => ({
    label: `t${at}`,
    invokedMs: at * 10 - before,
    returnedMs: at * 10 + behind,
    steps: steps.map(({ key, push }): Step => {
      const items = lists.get(key) ?? [];
      lists.set(key, items);
      if (!push) return { kind: 'read', key, items: [...items] };
      items.push(String(++element));
      return { kind: 'append', key, element: String(element) };
    }),
  }));
}

test('whatever took effect one by one has no anomaly', () => {
  fc.assert(
    fc.property(fc.array(drawn, { maxLength: 80 }), (all) => {
      expect(findAnomalies(happen(all))).toEqual([]);
    }),
    { numRuns: scale.linearizableHistories },
  );
});

test('a push taken out of every read behind its return is missed', () => {
  const cut = fc.tuple(fc.array(drawn, { minLength: 4, maxLength: 40 }), fc.nat());
  let bent = 0;
  fc.assert(
    fc.property(cut, ([all, which]) => {
      const history = happen(all);
      const read = (element: string, behindMs: number) =>
        history.some(
          ({ invokedMs, steps }) =>
            invokedMs > behindMs &&
            steps.some((step) => step.kind === 'read' && step.items?.includes(element)),
        );
      const pushes = history.flatMap(({ steps, returnedMs }) =>
        steps.flatMap((step) =>
          step.kind === 'append' && read(step.element, returnedMs) ? [step.element] : [],
        ),
      );
      if (pushes.length === 0) return;
      const lost = pushes[which % pushes.length]!;
      const without = history.map((one) => ({
        ...one,
        steps: one.steps.map((step) =>
          step.kind === 'read'
            ? { ...step, items: step.items!.filter((item) => item !== lost) }
            : step,
        ),
      }));
      bent++;
      expect(findAnomalies(without).length).toBeGreaterThan(0);
    }),
    { numRuns: scale.linearizableHistories },
  );
  expect(bent).toBeGreaterThan(scale.linearizableHistories / 4);
});

test('the time it takes grows as the history does', () => {
  const all: Drawn[] = Array.from({ length: 20_000 }, (_, at) => ({
    steps: [{ key: 'abc'[at % 3]!, push: at % 50 !== 0 }],
    ...{ before: at % 40, behind: (at * 7) % 40 },
  }));
  const history = happen(all);
  const cpuMs = cpuMsOf(() => expect(findAnomalies(history)).toEqual([]));
  expect(cpuMs).toBeLessThan(20_000);
});
