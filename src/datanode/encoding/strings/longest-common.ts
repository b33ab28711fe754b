/** Longest common subsequence of two strings, with the ranges that make it up. */

import { giveWay, type Slices } from '../steps/slices.ts';

/** Cells of the table that are filled between two pauses: a quarter of a millisecond. */
const STEP_CELLS = 65_536;
/** Steps back through the table, each perhaps a run of its own. */
const STEPS_BACK = 512;

/** Inclusive byte positions of one run in both strings. */
export interface CommonRun {
  readonly a: readonly [first: number, last: number];
  readonly b: readonly [first: number, last: number];
  readonly length: number;
}

export interface LongestCommon {
  readonly bytes: Buffer;
  /** From the end of the strings to their beginning, as Redis gives them. */
  readonly runs: readonly CommonRun[];
}

/** Bytes of the table that `longestCommon` fills. */
export function longestCommonTableBytes(a: Buffer, b: Buffer): number {
  return 4 * (a.length + 1) * (b.length + 1);
}

/** Time and memory grow with the product of the lengths: bound it before. */
export function* longestCommon(a: Buffer, b: Buffer): Slices<LongestCommon> {
  const width = b.length + 1;
  const table = yield* commonLengths(a, b);
  let steps = 0;
  let left = table[a.length * width + b.length]!;
  const bytes = Buffer.allocUnsafe(left);
  const runs: CommonRun[] = [];
  let run: { a: [number, number]; b: [number, number] } | undefined;
  const endRun = () => {
    if (run) runs.push({ a: run.a, b: run.b, length: run.a[1] - run.a[0] + 1 });
    run = undefined;
  };
  let i = a.length;
  let j = b.length;
  while (i > 0 && j > 0) {
    if (++steps % STEPS_BACK === 0) yield* giveWay();
    if (a[i - 1] === b[j - 1]) {
      i--;
      j--;
      bytes[--left] = a[i]!;
      if (run?.a[0] === i + 1 && run.b[0] === j + 1) {
        run.a[0] = i;
        run.b[0] = j;
      } else {
        endRun();
        run = { a: [i, i], b: [j, j] };
      }
    } else if (table[(i - 1) * width + j]! > table[i * width + j - 1]!) {
      i--;
    } else {
      j--;
    }
  }
  endRun();
  return { bytes, runs };
}

/** Entry (i, j), at i × (length of b + 1) + j: the longest length of the first i and j bytes. */
function* commonLengths(a: Buffer, b: Buffer): Slices<Uint32Array> {
  const width = b.length + 1;
  const table = new Uint32Array((a.length + 1) * width);
  let cells = 0;
  for (let i = 1; i <= a.length; i++) {
    for (let from = 1; from <= b.length; from += STEP_CELLS) {
      const end = Math.min(b.length, from + STEP_CELLS - 1);
      fillCells(table, a, b, i, from, end);
      cells += end - from + 1;
      if (cells < STEP_CELLS) continue;
      cells = 0;
      yield* giveWay();
    }
  }
  return table;
}

/** Row `i` from column `from` to `end`. */
function fillCells(
  table: Uint32Array,
  a: Buffer,
  b: Buffer,
  i: number,
  from: number,
  end: number,
): void {
  const width = b.length + 1;
  for (let j = from; j <= end; j++) {
    const at = i * width + j;
    table[at] =
      a[i - 1] === b[j - 1]
        ? table[at - width - 1]! + 1
        : Math.max(table[at - width]!, table[at - 1]!);
  }
}
