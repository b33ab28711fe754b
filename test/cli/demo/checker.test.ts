/** The judge of kept and lost writes: it must be able to find each kind of fault. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { check, type Found } from '../../../src/cli/demo/checker.ts';
import type { KeyKind, Told } from '../../../src/cli/demo/told.ts';

const told = (
  kind: KeyKind,
  acknowledged: readonly number[],
  unknown: readonly number[] = [],
): Told => ({ kind, key: 'k', acknowledged, unknown });

/** Lost, duplicates and unexpected of one key. */
function judged(one: Told, found: Found): number[] {
  const verdict = check([one], new Map([['k', found]]));
  expect(verdict.acknowledged).toBe(one.acknowledged.length);
  const counts = [verdict.lost, verdict.duplicates, verdict.unexpected];
  expect(verdict.findings).toHaveLength(counts.filter((count) => count > 0).length);
  return counts;
}

describe('a counter', () => {
  test.each<[string, number[], number[], Found, number[]]>([
    ['all there', [1, 2, 3], [], '3', [0, 0, 0]],
    ['answered in another order', [3, 1, 2], [], '3', [0, 0, 0]],
    ['never written', [], [], null, [0, 0, 0]],
    ['the last one lost', [1, 2, 3], [], '2', [1, 0, 0]],
    ['all lost', [1, 2, 3], [], null, [3, 0, 0]],
    ['one lost and written over', [1, 2, 2, 3], [], '3', [1, 0, 0]],
    ['one done twice', [1, 2, 4], [], '4', [0, 1, 0]],
    ['the last one done twice', [1, 2, 3], [], '4', [0, 1, 0]],
    ['one lost and one done twice: the total is right', [1, 2, 2, 4], [], '4', [1, 1, 0]],
    ['an unknown outcome that took effect', [1, 3], [2], '3', [0, 0, 0]],
    ['an unknown outcome that did not', [1, 2], [3], '2', [0, 0, 0]],
    ['an unknown outcome that took effect twice', [1, 4], [2], '4', [0, 1, 0]],
    ['an answer that no INCR gives', [1, 0, Number.NaN], [], '1', [2, 0, 0]],
    ['something else', [1], [], 'text', [0, 0, 1]],
    ['a list', [1], [], ['1'], [0, 0, 1]],
  ])('%s', (_name, acknowledged, unknown, found, counts) => {
    expect(judged(told('counter', acknowledged, unknown), found)).toEqual(counts);
  });
});

describe('a list', () => {
  test.each<[string, number[], number[], Found, number[]]>([
    ['all there', [1, 2, 3], [], ['1', '2', '3'], [0, 0, 0]],
    ['in another order', [1, 2, 3], [], ['3', '1', '2'], [0, 0, 0]],
    ['never written', [], [], null, [0, 0, 0]],
    ['one lost', [1, 2, 3], [], ['1', '3'], [1, 0, 0]],
    ['all lost', [1, 2], [], null, [2, 0, 0]],
    ['one done twice', [1, 2], [], ['1', '2', '1'], [0, 1, 0]],
    ['one done three times', [1], [], ['1', '1', '1'], [0, 2, 0]],
    ['one lost and one done twice: the length is right', [1, 2], [], ['1', '1'], [1, 1, 0]],
    ['an unknown outcome that took effect', [1], [2], ['1', '2'], [0, 0, 0]],
    ['an unknown outcome that did not', [1], [2], ['1'], [0, 0, 0]],
    ['an unknown outcome that took effect twice', [1], [2], ['2', '1', '2'], [0, 1, 0]],
    ['one whose client was told that it was not done', [1], [], ['1', '2'], [0, 0, 1]],
    ['a text', [1], [], '1', [0, 0, 1]],
  ])('%s', (_name, acknowledged, unknown, found, counts) => {
    expect(judged(told('list', acknowledged, unknown), found)).toEqual(counts);
  });
});

describe('a register', () => {
  test.each<[string, number[], number[], Found, number[]]>([
    ['the last value', [1, 2, 3], [], '3', [0, 0, 0]],
    ['never written', [], [], null, [0, 0, 0]],
    ['an older value', [1, 2, 3], [], '2', [1, 0, 0]],
    ['no value', [1], [], null, [1, 0, 0]],
    ['a later value of unknown outcome', [1], [2], '2', [0, 0, 0]],
    ['an earlier value of unknown outcome', [1, 3], [2], '2', [1, 0, 0]],
    ['only values of unknown outcome, and none there', [], [1, 2], null, [0, 0, 0]],
    ['only values of unknown outcome', [], [1, 2], '1', [0, 0, 0]],
    ['a value that nobody wrote', [1], [2], '7', [0, 0, 1]],
  ])('%s', (_name, acknowledged, unknown, found, counts) => {
    expect(judged(told('register', acknowledged, unknown), found)).toEqual(counts);
  });
});

test('several keys are summed up, each finding names its key', () => {
  const keys: Told[] = [
    { kind: 'counter', key: 'c', acknowledged: [1, 2], unknown: [] },
    { kind: 'list', key: 'l', acknowledged: [1, 2, 3], unknown: [] },
    { kind: 'register', key: 'r', acknowledged: [1], unknown: [] },
  ];
  const found = new Map<string, Found>([
    ['c', '3'],
    ['l', ['1', '2', '2']],
  ]);
  expect(check(keys, found)).toEqual({
    ...{ acknowledged: 6, lost: 2, duplicates: 2, unexpected: 0 },
    findings: [
      "c: 1 duplicates, the first INCR to 3 was no client's",
      'l: 1 lost, the first element 3 is missing',
      'l: 1 duplicates, the first element 2 is there 2 times',
      'r: 1 lost, the first SET to 1 was acknowledged, and the value is none',
    ],
  });
});

test('every INCR dropped and every one done twice is found, whatever the order', () => {
  const fault = fc.constantFrom('none', 'dropped', 'twice');
  fc.assert(
    fc.property(fc.array(fault, { maxLength: 60 }), (faults) => {
      let value = 0;
      const answers: number[] = [];
      const list: string[] = [];
      for (const [at, one] of faults.entries()) {
        // What is dropped has been answered by a leader whose log did not survive.
        answers.push(value + 1);
        const times = one === 'none' ? 1 : one === 'twice' ? 2 : 0;
        value += times;
        for (let time = 0; time < times; time++) list.push(String(at));
      }
      const dropped = faults.filter((one) => one === 'dropped').length;
      const twice = faults.filter((one) => one === 'twice').length;
      const elements = faults.map((_, at) => at);
      expect(judged(told('counter', answers), String(value))).toEqual([dropped, twice, 0]);
      expect(judged(told('list', elements), list)).toEqual([dropped, twice, 0]);
    }),
  );
});
