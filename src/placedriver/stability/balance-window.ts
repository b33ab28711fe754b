/** When replicas may move only to be more even: minutes of the day, UTC. Pure. */
import type { BalanceWindow } from '../../meta/schema.ts';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1_440;
const DAY_MS = DAY_MINUTES * MINUTE_MS;

/** A window that ends where it begins is never open. */
export function isWindowOpen({ fromMinute, toMinute }: BalanceWindow, nowMs: number): boolean {
  const minute = Math.floor(sinceMidnightMs(nowMs) / MINUTE_MS);
  if (fromMinute <= toMinute) return minute >= fromMinute && minute < toMinute;
  return minute >= fromMinute || minute < toMinute;
}

/** Milliseconds until it opens or closes next, at least 1; undefined when it never does. */
export function windowEdgeInMs(window: BalanceWindow, nowMs: number): number | undefined {
  const { fromMinute, toMinute } = window;
  if (fromMinute === toMinute) return undefined;
  const since = sinceMidnightMs(nowMs);
  const waits = [fromMinute, toMinute].map((minute) => {
    const ahead = (minute * MINUTE_MS - since + DAY_MS) % DAY_MS;
    return ahead === 0 ? DAY_MS : ahead;
  });
  return Math.min(...waits);
}

/** As 01:00-05:00. */
export function formatWindow({ fromMinute, toMinute }: BalanceWindow): string {
  return `${formatMinute(fromMinute)}-${formatMinute(toMinute)}`;
}

/** Reads what `formatWindow` writes; undefined when it is anything else, or never open. */
export function parseWindow(text: string): BalanceWindow | undefined {
  const match = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)$/.exec(text);
  if (match === null) return undefined;
  const [fromHour, fromMinutes, toHour, toMinutes] = match.slice(1).map(Number);
  const window = { fromMinute: fromHour! * 60 + fromMinutes!, toMinute: toHour! * 60 + toMinutes! };
  return window.fromMinute === window.toMinute ? undefined : window;
}

/** Also of a clock that stands before 1970. */
function sinceMidnightMs(nowMs: number): number {
  return ((nowMs % DAY_MS) + DAY_MS) % DAY_MS;
}

function formatMinute(minute: number): string {
  const two = (number: number) => String(number).padStart(2, '0');
  return `${two(Math.floor(minute / 60))}:${two(minute % 60)}`;
}
