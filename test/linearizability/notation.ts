/**
 * Histories as a person writes them, one call a line: `0-10 a: SET x 1 = "OK"`; `5-` or `= ?` for an
 * unknown outcome, `MULTI SET x 1, GET y = ["OK", null]` for a transaction, `x is "1"; MULTI …` for
 * one that watched x. Behind it where it stood: `@ 5.0` command 0 of entry 5, `@ 5` a read that has
 * seen entry 5, `@ 5..7` one that may have seen 7; before that `g2` its group and `t3` its term, 1 else.
 */
import type { Call } from './history.ts';
import type { Reply } from './keyspace.ts';
import type { Place } from './places.ts';

const SHAPE = /^(\d+)-(\d*) (\w+): (?:(\w+) is (\S+); )?(MULTI )?(.+?)(?: = (.+))?$/;

export function parseHistory(text: string): readonly Call[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map(parseCall);
}

const PLACE = / @ (?:g(\d+) )?(?:t(\d+) )?(\d+)(?:\.(\d+)|\.\.(\d+))?$/;

function parsePlace(line: string): Place | undefined {
  const parts = PLACE.exec(line);
  if (parts === null) return undefined;
  const [, group = 1, term = 1, index, at = -1, upTo = index] = parts;
  const numbers = { group, term, index, upTo, at };
  return Object.fromEntries(
    Object.entries(numbers).map(([name, text]) => [name, Number(text)]),
  ) as unknown as Place;
}

function parseCall(line: string): Call {
  const place = parsePlace(line);
  const parts = SHAPE.exec(line.replace(PLACE, ''));
  if (parts === null) throw new Error(`no call: ${line}`);
  const [, from, to, client = '', key, text = '', multi, words = '', reply] = parts;
  const isKnown = to !== '' && reply !== undefined && reply !== '?';
  return {
    client,
    lines: words.split(', ').map((one) => one.split(' ')),
    ...(multi && { isTransaction: true }),
    ...(key && { watched: { key, text: JSON.parse(text) as string | null } }),
    invokedMs: Number(from),
    returnedMs: isKnown ? Number(to) : Number.POSITIVE_INFINITY,
    ...(isKnown && { reply: JSON.parse(reply) as Reply }),
    ...(place && { place }),
  };
}
