import { expect, test } from 'vitest';
import { cpuMsOf } from '../cpu-time.ts';
import type { Operation } from './operation.ts';
import { isLinearizable } from './search.ts';

type Register = number;

function write(value: number, invokedMs: number, returnedMs = Number.POSITIVE_INFINITY) {
  return { label: `w${value}`, invokedMs, returnedMs, step: () => value };
}

function read(value: number, invokedMs: number, returnedMs: number): Operation<Register> {
  const step = (state: Register) => (state === value ? state : undefined);
  return { label: `r${value}`, invokedMs, returnedMs, step };
}

const verdict = (...operations: Operation<Register>[]) => isLinearizable(operations, 0, String);

test('reads see what was written before them, or beside them', () => {
  expect(verdict(write(1, 0, 10), read(1, 11, 12))).toBe('yes');
  expect(verdict(write(1, 0, 10), read(0, 11, 12))).toBe('no');
  expect(verdict(write(1, 0, 10), read(0, 5, 6), read(1, 7, 8))).toBe('yes');
  expect(verdict(write(1, 0, 10), read(1, 5, 6), read(0, 7, 8))).toBe('no');
});

test('an unknown write may happen late, or never, but not twice', () => {
  expect(verdict(write(1, 0), read(0, 5, 6), read(1, 7, 8))).toBe('yes');
  expect(verdict(write(1, 0), read(0, 5, 6))).toBe('yes');
  expect(verdict(write(1, 0), read(1, 5, 6), read(0, 7, 8))).toBe('no');
  expect(verdict(write(1, 0), write(2, 3, 4), read(1, 5, 6), write(3, 7, 8), read(1, 9, 10))).toBe(
    'no',
  );
});

test('concurrent writes take any order, which all readers share', () => {
  const writes = [write(1, 0, 10), write(2, 0, 10), write(3, 0, 10)];
  expect(verdict(...writes, read(2, 11, 12))).toBe('yes');
  expect(verdict(...writes, read(2, 11, 12), read(3, 13, 14))).toBe('no');
  expect(verdict(...writes, read(1, 3, 4), read(3, 5, 6), read(2, 7, 8))).toBe('yes');
  expect(verdict(...writes, read(1, 3, 4), read(3, 5, 6), read(1, 7, 8))).toBe('no');
});

test('long histories of few clients are decided', () => {
  const operations: Operation<Register>[] = [];
  for (let at = 0; at < 400; at++) {
    operations.push(
      write(at + 1, at * 10, at * 10 + 9),
      read(at + 1, at * 10 + 9.5, at * 10 + 9.8),
    );
    if (at % 10 === 0) operations.push(write(100_000 + at, at * 10));
  }
  expect(verdict(...operations)).toBe('yes');
});

test('counts of which many are not known are decided', () => {
  const count = (value: number | undefined, invokedMs: number, returnedMs: number) => {
    const step = (state: Register) =>
      value === undefined || state + 1 === value ? state + 1 : undefined;
    return { label: `i${value}`, invokedMs, returnedMs, step };
  };
  const operations: Operation<Register>[] = [];
  for (let at = 0; at < 40; at++) {
    operations.push(count(undefined, at * 10, Number.POSITIVE_INFINITY));
    // every third of those took effect
    operations.push(count(at + 1 + Math.floor(at / 3), at * 10 + 1, at * 10 + 5));
  }
  expect(verdict(...operations)).toBe('yes');
});

test('what too many unknown writes leave open is given up in time', () => {
  const unknown = Array.from({ length: 40 }, (_, at) => write(at + 1, at));
  // no order has it, and nearly every subset of the unknown writes leads to the same states
  const operations = [...unknown, read(40, 50, 51), read(0, 52, 53)];
  const bounds = { stepsMax: 200_000, memoryMax: 64 * 1024 * 1024 };
  const cpuMs = cpuMsOf(() => {
    expect(isLinearizable(operations, 0, String, bounds)).toBe('undecided');
  });
  // a second or two; when every way was compared with every other it did not end
  expect(cpuMs).toBeLessThan(60_000);
});
