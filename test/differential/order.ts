/** What of a reply is compared: bytes, or items whose order means nothing. */
import { decodeReply } from '../../src/datanode/resp/decode-reply.ts';
import { encodeReply, formatDouble } from '../../src/datanode/resp/encode-reply.ts';
import type { Reply } from '../../src/datanode/resp/reply.ts';

/**
 * exact: bytes · set: the items in any order · pairs: keys and values (flat in RESP2) in any order ·
 * count: kind and number of items, for commands that choose at random · scan: a cursor, then items
 * in any order · scanPairs: a cursor, then keys and values · scores: bytes, with numbers in the
 * digits of Redis 7.2 (see exceptions.ts) · scanScores: a cursor, then members and scores · sign: of
 * a number that depends on the moment · seconds: what is left, which may be less where the second
 * has turned between two servers' answers · moments: of streams, without the time of day, with
 * what is idle to the nearest fifty seconds, and without what Redis 7.2 tells beyond 7.0 or otherwise (lag).
 */
export type Order =
  | 'exact'
  | 'set'
  | 'pairs'
  | 'count'
  | 'scan'
  | 'scanPairs'
  | 'scores'
  | 'scanScores'
  | 'sign'
  | 'seconds'
  | 'moments';

/** Longer than any command is under way, also on a busy machine. */
const SECONDS_APART = 60;

/** Two servers' answers are the same where the strings for both are, each made beside the other answer. */
export function comparable(bytes: Buffer, order: Order, beside = bytes): string {
  const text = bytes.toString('latin1');
  if (order === 'exact' || text.startsWith('-')) return text;
  if (order === 'sign') return text.replace(/^:\d+/, ':+');
  if (order === 'seconds') return withoutTurn(text, beside.toString('latin1'));
  if (order === 'moments') return withoutMoments(text);
  if (order === 'scores') return withShortNumbers(text);
  if (order === 'scanScores') {
    return comparable(Buffer.from(withShortNumbers(text), 'latin1'), 'scanPairs');
  }
  const reply = decodeReply(bytes);
  if (order === 'count') return `${text[0]}${itemsOf(reply)?.length ?? ''}`;
  const items = itemsOf(reply);
  if (items === undefined) return text;
  const [cursor, given] = items;
  if (order.startsWith('scan') && cursor && given) {
    const inside = order === 'scan' ? 'set' : 'pairs';
    return `${comparable(encodeReply(cursor, 3), 'exact')}${comparable(encodeReply(given, 3), inside)}`;
  }
  const texts = items.map((item) => encodeReply(item, 3).toString('latin1'));
  const flat = order === 'pairs' && reply.kind === 'array' && !items.some((item) => itemsOf(item));
  const units = flat ? pairUp(texts) : texts;
  return `${text[0]}${units.sort().join('')}`;
}

/**
 * Both answers where they are no minute apart: the greater of the two. Rounded, they would differ whenever
 * the second that turns is one at which rounding goes the other way.
 */
function withoutTurn(text: string, other: string): string {
  const [left, also] = [text, other].map((each) => Number(/^:(\d+)\r\n$/.exec(each)?.[1]));
  return Math.abs(left! - also!) < SECONDS_APART ? `:${Math.max(left!, also!)}\r\n` : text;
}

function withoutMoments(reply: string): string {
  return reply
    .replace(/\$3\r\nlag\r\n(?::-?\d+|\$-1|_)\r\n/g, '')
    .replace(/\$(?:8\r\ninactive|11\r\nactive-time)\r\n:-?\d+\r\n/g, '')
    .replace(/[*%]\d+\r\n(\$4\r\nname\r\n\$\d+\r\n.*\r\n\$(?:7\r\npending|9\r\nseen-time))/g, '?$1')
    .replace(/:1\d{12}\r\n(:\d+\r\n)?/g, ':now\r\n$1')
    .replace(/(\$4\r\nidle\r\n):\d+/g, '$1:?')
    .replace(
      /:(\d+)\r\n(:\d+\r\n)/g,
      (_, idle, times) => `:${Math.round(idle / 50_000)}\r\n${times}`,
    );
}

function itemsOf(reply: Reply): readonly Reply[] | undefined {
  switch (reply.kind) {
    case 'array':
    case 'set':
    case 'push':
      return reply.items;
    case 'map':
      return reply.pairs.map((pair) => ({ kind: 'array', items: pair }));
    default:
      return undefined;
  }
}

function pairUp(texts: readonly string[]): string[] {
  const pairs: string[] = [];
  for (let at = 0; at < texts.length; at += 2) pairs.push(`${texts[at]}${texts[at + 1]}`);
  return pairs;
}

/** Redis 7.0 prints doubles with `%.17g`, 7.2 with the digits that read back. */
function withShortNumbers(reply: string): string {
  const bulks = reply.replace(/\$\d+\r\n([-+.e\d]+)\r\n/g, (whole, number: string) => {
    const short = shortNumber(number);
    return short === number ? whole : `$${short.length}\r\n${short}\r\n`;
  });
  return bulks.replace(/,([-+.e\d]+)\r\n/g, (_, number: string) => `,${shortNumber(number)}\r\n`);
}

function shortNumber(text: string): string {
  const value = Number(text);
  return text === in17Digits(value) ? formatDouble(value) : text;
}

/** As C's `%.17g`. */
function in17Digits(value: number): string {
  const [mantissa = '', power = '0'] = value.toExponential(16).split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 17) return withoutZeros(value.toFixed(16 - exponent));
  const digits = String(Math.abs(exponent)).padStart(2, '0');
  return `${withoutZeros(mantissa)}e${exponent < 0 ? '-' : '+'}${digits}`;
}

function withoutZeros(decimal: string): string {
  return decimal.includes('.') ? decimal.replace(/\.?0+$/, '') : decimal;
}
