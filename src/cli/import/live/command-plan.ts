/** What becomes of a command of a source's stream. Pure, but for where keys belong. */
import { keyPositions, rowsByName } from '../../../sdk/key-places.ts';

export type Line = readonly Buffer[];

export interface PlacedLine {
  readonly partition: number;
  readonly line: Line;
}

export type CommandPlan =
  /** It changes no key. */
  | { readonly kind: 'ignore' }
  | { readonly kind: 'select'; readonly database: number }
  | { readonly kind: 'multi' }
  | { readonly kind: 'exec' }
  /** All of it in one partition, or in parts that have nothing to do with each other. */
  | { readonly kind: 'lines'; readonly lines: readonly PlacedLine[] }
  /** Keys of several partitions that have to come together. */
  | { readonly kind: 'across'; readonly line: Line; readonly keys: readonly number[] }
  /** From one database into another. */
  | {
      readonly kind: 'between';
      readonly from: Buffer;
      readonly to: Buffer;
      readonly database: number;
      readonly isCopy: boolean;
    }
  | { readonly kind: 'flush'; readonly isAll: boolean }
  /** It changes libraries of functions, which belong to no database. */
  | { readonly kind: 'function' }
  /** It is left out, and both are not the same from then on. */
  | { readonly kind: 'refuse'; readonly why: string }
  /** Nothing that follows it would be right. */
  | { readonly kind: 'stop'; readonly why: string };

const IGNORE: CommandPlan = { kind: 'ignore' };
const ignored: ReadonlySet<string> = new Set([
  ...['ping', 'replconf', 'publish', 'spublish', 'script', 'pfdebug', 'wait', 'client'],
]);

/** `partitionOf`: of a key in the database that is selected. */
export function planOf(line: Line, partitionOf: (key: Buffer) => number): CommandPlan {
  const name = line[0]!.toString('latin1').toLowerCase();
  if (ignored.has(name)) return IGNORE;
  switch (name) {
    case 'select':
      return { kind: 'select', database: Number(line[1]) };
    case 'multi':
    case 'exec':
      return { kind: name };
    case 'flushall':
    case 'flushdb':
      return { kind: 'flush', isAll: name === 'flushall' };
    case 'swapdb':
      return { kind: 'stop', why: 'SWAPDB: kvorum cannot exchange two namespaces' };
    case 'move':
      return between(line[1]!, line[1]!, Number(line[2]), false);
    case 'copy': {
      const at = line.findIndex(
        (word, place) => place > 2 && /^db$/i.test(word.toString('latin1')),
      );
      if (at > 0) return between(line[1]!, line[2]!, Number(line[at + 1]), true);
      return placed(name, line, partitionOf);
    }
    case 'function':
      return { kind: 'function' };
    default:
      return placed(name, line, partitionOf);
  }
}

function between(from: Buffer, to: Buffer, database: number, isCopy: boolean): CommandPlan {
  return { kind: 'between', from, to, database, isCopy };
}

function placed(name: string, line: Line, partitionOf: (key: Buffer) => number): CommandPlan {
  const row = rowsByName.get(name);
  if (row === undefined) return { kind: 'refuse', why: 'kvorum has no such command' };
  if (row.kind === 'read') return IGNORE;
  const keys = keyPositions(row, line);
  if (keys.length === 0) return { kind: 'refuse', why: 'it names no key' };
  const step = stepOf.get(name);
  if (step !== undefined) return { kind: 'lines', lines: inParts(name, line, step, partitionOf) };
  const partitions = new Set(keys.map((at) => partitionOf(line[at]!)));
  const [partition = 0] = partitions;
  if (partitions.size === 1) return { kind: 'lines', lines: [{ partition, line }] };
  return { kind: 'across', line, keys };
}

/** Commands whose keys have nothing to do with each other, and the arguments that go with each. */
const stepOf: ReadonlyMap<string, number> = new Map([
  ['del', 1],
  ['unlink', 1],
  ['touch', 1],
  ['mset', 2],
  // it is told only when it has set all of them
  ['msetnx', 2],
]);

function inParts(
  name: string,
  line: Line,
  step: number,
  partitionOf: (key: Buffer) => number,
): readonly PlacedLine[] {
  const word = Buffer.from(name === 'msetnx' ? 'mset' : name);
  const parts = new Map<number, Buffer[]>();
  for (let at = 1; at + step <= line.length; at += step) {
    const partition = partitionOf(line[at]!);
    const part = parts.get(partition) ?? [word];
    part.push(...line.slice(at, at + step));
    parts.set(partition, part);
  }
  return [...parts].map(([partition, part]) => ({ partition, line: part }));
}
