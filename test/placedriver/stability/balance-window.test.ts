import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  formatWindow,
  isWindowOpen,
  parseWindow,
  windowEdgeInMs,
} from '../../../src/placedriver/stability/balance-window.ts';

const MINUTE = 60_000;
const at = (hour: number, minute = 0, ms = 0) =>
  20_000 * 86_400_000 + hour * 3_600_000 + minute * MINUTE + ms;

test('a window is open from its first minute up to its last, not beyond', () => {
  const night = parseWindow('01:00-05:30')!;
  expect(night).toEqual({ fromMinute: 60, toMinute: 330 });
  expect(isWindowOpen(night, at(1) - 1)).toBe(false);
  expect(isWindowOpen(night, at(1))).toBe(true);
  expect(isWindowOpen(night, at(5, 30) - 1)).toBe(true);
  expect(isWindowOpen(night, at(5, 30))).toBe(false);
  expect(windowEdgeInMs(night, at(0, 59, 1))).toBe(MINUTE - 1);
  expect(windowEdgeInMs(night, at(1))).toBe(270 * MINUTE);
  expect(windowEdgeInMs(night, at(23))).toBe(120 * MINUTE);
});

test('one that ends before it begins reaches over midnight', () => {
  const late = parseWindow('22:00-02:00')!;
  expect([21, 22, 23, 0, 1, 2].map((hour) => isWindowOpen(late, at(hour)))).toEqual([
    ...[false, true, true, true, true],
    false,
  ]);
  expect(windowEdgeInMs(late, at(23))).toBe(180 * MINUTE);
});

test('what is no window is not read', () => {
  for (const text of [
    '',
    '1:00-2:00',
    '24:00-01:00',
    '01:60-02:00',
    '01:00-01:00',
    '01:00-02:00 ',
  ]) {
    expect(parseWindow(text), text).toBeUndefined();
  }
  const empty = { fromMinute: 60, toMinute: 60 };
  expect(isWindowOpen(empty, at(1))).toBe(false);
  expect(windowEdgeInMs(empty, at(1))).toBeUndefined();
});

test('whatever the window and the moment, it changes at the edge told and not before', () => {
  const minute = fc.integer({ min: 0, max: 1_439 });
  const moment = fc.integer({ min: -4_000_000_000_000, max: 4_000_000_000_000 });
  fc.assert(
    fc.property(minute, minute, moment, (fromMinute, toMinute, nowMs) => {
      fc.pre(fromMinute !== toMinute);
      const window = { fromMinute, toMinute };
      expect(parseWindow(formatWindow(window))).toEqual(window);
      const edge = windowEdgeInMs(window, nowMs)!;
      expect(edge).toBeGreaterThan(0);
      const open = isWindowOpen(window, nowMs);
      expect(isWindowOpen(window, nowMs + edge)).toBe(!open);
      expect(isWindowOpen(window, nowMs + edge - 1)).toBe(open);
    }),
  );
});
