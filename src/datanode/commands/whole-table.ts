/**
 * A reply that tells all rows of the command table, which never changes: made once, a few rows at a
 * time, and kept as bytes for both protocols. COMMAND DOCS made of objects anew for each client that
 * connects (redis-cli asks for it, drivers ask for COMMAND) held the event loop for 25 to 50 ms.
 */
import { encodeReply } from '../resp/encode-reply.ts';
import type { PackedShape, Reply } from '../resp/reply.ts';
import type { Command } from './command.ts';
import type { NodeContext } from './node-context.ts';

/** Rows made in one turn, a millisecond or two of them. */
const ROWS_STEP = 4;

export type WholeTable = (context: NodeContext) => Reply | Promise<Reply>;

/** `shape`: of the items that `itemsOf` makes of each row, one of an array and two of a map. */
export function wholeTable(
  shape: PackedShape,
  table: () => ReadonlyMap<string, Command>,
  itemsOf: (command: Command) => readonly Reply[],
): WholeTable {
  let made: Reply | undefined;
  let making: Promise<Reply> | undefined;
  const make = async (context: NodeContext) => {
    const [resp2, resp3]: [Buffer[], Buffer[]] = [[], []];
    let units = 0;
    for (const command of table().values()) {
      if (units++ % ROWS_STEP === 0) await context.sleep(0);
      for (const item of itemsOf(command)) {
        resp2.push(encodeReply(item, 2));
        resp3.push(encodeReply(item, 3));
      }
    }
    const chunks = [[Buffer.concat(resp2)], [Buffer.concat(resp3)]] as const;
    made = { kind: 'packed', shape, units, resp2: chunks[0], resp3: chunks[1] };
    return made;
  };
  return (context) => {
    making ??= make(context);
    return made ?? making;
  };
}
