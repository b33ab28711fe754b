/**
 * Histories as a person writes them, one call a line: `0-10 a: SET x 1 = "OK"`; `5-` or `= ?` for an
 * unknown outcome, `MULTI SET x 1, GET y = ["OK", null]` for a transaction, `x is "1"; MULTI …` for
 * one that watched x.
 */
import type { Call } from './history.ts';
import type { Reply } from './keyspace.ts';

const SHAPE = /^(\d+)-(\d*) (\w+): (?:(\w+) is (\S+); )?(MULTI )?(.+?)(?: = (.+))?$/;

export function parseHistory(text: string): readonly Call[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map(parseCall);
}

function parseCall(line: string): Call {
  const parts = SHAPE.exec(line);
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
  };
}
