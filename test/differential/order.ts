/** What of a reply is compared: bytes, or items whose order means nothing. */
import { decodeReply } from '../../src/datanode/resp/decode-reply.ts';
import { encodeReply } from '../../src/datanode/resp/encode-reply.ts';
import type { Reply } from '../../src/datanode/resp/reply.ts';

/**
 * exact: bytes · set: the items in any order · pairs: keys and values (flat in RESP2) in any order ·
 * count: kind and number of items, for commands that choose at random · scan: a cursor, then items
 * in any order · scanPairs: a cursor, then keys and values.
 */
export type Order = 'exact' | 'set' | 'pairs' | 'count' | 'scan' | 'scanPairs';

export function comparable(bytes: Buffer, order: Order): string {
  const text = bytes.toString('latin1');
  if (order === 'exact' || text.startsWith('-')) return text;
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
