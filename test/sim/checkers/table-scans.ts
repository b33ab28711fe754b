/**
 * At the end of a run, when nobody writes any more, a scan of a table gives the keys of its type that
 * there are. Keys may still expire: what is there before and after the scan is in it, and what was not
 * there before is not.
 */
import type { Reply } from '../../../src/datanode/resp/reply.ts';
import { tabledName, tablesOf } from '../commands/draw.ts';
import { typed } from '../commands/zan.ts';
import { Violation } from './checker.ts';

export type Ask = (words: readonly string[]) => Promise<Reply>;

const TYPES = { KV: 'string', HASH: 'hash', LIST: 'list', SET: 'set', ZSET: 'zset' } as const;

/** Throws Violation. */
export async function checkTableScans(ask: Ask): Promise<void> {
  for (const [type, family] of typed) {
    for (const table of tablesOf(family)) {
      const key = `${table}:${tabledName}`;
      const isThere = async () => textOf(await ask(['TYPE', key])) === TYPES[type];
      const before = await isThere();
      const found = namesIn(await ask(['ZAN.SCAN', type, table, '']));
      const after = await isThere();
      const missing = before && after && !found.includes(tabledName);
      const others = before ? found.filter((name) => name !== tabledName) : found;
      if (!missing && others.length === 0 && found.length <= 1) continue;
      const was = before ? (after ? 'there' : 'there before') : 'not there';
      throw new Violation(
        'table scans',
        `${key} is ${was} as ${type}; the scan of its table gives ${JSON.stringify(found)}`,
      );
    }
  }
}

/** Of every partition's page. */
function namesIn(reply: Reply): string[] {
  if (reply.kind !== 'array') throw new Violation('table scans', JSON.stringify(reply));
  return reply.items.flatMap((page) =>
    page.kind === 'array' ? page.items.slice(1).map(textOf) : [JSON.stringify(page)],
  );
}

function textOf(reply: Reply): string {
  if (reply.kind === 'bulk') return reply.bytes.toString('latin1');
  return reply.kind === 'simple' ? reply.text : JSON.stringify(reply);
}
