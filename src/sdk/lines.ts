/** Lines sent one behind the other, and what was answered to them as a whole. */
import type { Argument, Connection, Outcome } from './connection.ts';
import { failureOf, failures } from './retry.ts';

export interface Answered {
  /** Of the last line. */
  readonly last: Outcome;
  /** The first error reply to a line before it. */
  readonly firstError: string | undefined;
  /** MULTI or a line behind it was refused, and others may have taken effect without it. */
  readonly isApart: boolean;
}

/** `heard` is called once, with the answer to the last line. */
export function sendLines(
  connection: Connection,
  lines: readonly (readonly Argument[])[],
  heard: (answered: Answered) => void,
): void {
  let firstError: string | undefined;
  const isMulti = lines[0]?.[0] === 'MULTI';
  let isRefused = false;
  let isApart = false;
  lines.forEach((line, at) => {
    connection.send(line, (last) => {
      if (at === lines.length - 1) {
        const isPart = isMulti && last.kind === 'reply' && firstError !== undefined;
        heard({ last, firstError, isApart: isApart || isPart });
      } else if (at === 0) isRefused = isMulti && last.kind === 'error';
      else if (isRefused && mayHaveRun(last)) isApart = true;
      if (last.kind === 'error') firstError ??= last.text;
    });
  });
}

function mayHaveRun(outcome: Outcome): boolean {
  if (outcome.kind !== 'error') return outcome.kind !== 'unsent';
  const { outcome: known } = failures[failureOf(outcome.text)];
  return known === 'unknown' || known === 'done';
}
