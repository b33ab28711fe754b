/**
 * What COMMAND tells of each row of the table, which never changes: made once and kept as bytes for both
 * protocols, the reply about all of them a few rows at a time. Made of objects anew for each client that
 * connects (redis-cli asks for COMMAND DOCS, drivers for COMMAND) it held the event loop for 25 to 50 ms;
 * and a name costs a few bytes to ask for, but thousands of objects to answer.
 */
import { limits } from '../../../common/limits.ts';
import { encodeReply } from '../../resp/encode-reply.ts';
import { error, NULL, type Reply } from '../../resp/reply.ts';
import type { Command } from '../rows/command.ts';
import type { NodeContext } from '../rows/node-context.ts';

/** Rows made in one turn, a millisecond or two of them. */
const ROWS_STEP = 4;

type Kept = Extract<Reply, { kind: 'kept' }>;

export class TableRows {
  readonly #shape: 'array' | 'map';
  readonly #itemsOf: (command: Command) => readonly Reply[];
  readonly #rows = new Map<Command, readonly Kept[]>();
  #all: Reply | undefined;
  #making: Promise<Reply> | undefined;

  /** `itemsOf`: what is told of a row, one item of an array or two of a map. */
  constructor(shape: 'array' | 'map', itemsOf: (command: Command) => readonly Reply[]) {
    this.#shape = shape;
    this.#itemsOf = itemsOf;
  }

  /** Of the whole table. */
  all(table: ReadonlyMap<string, Command>, context: NodeContext): Reply | Promise<Reply> {
    this.#making ??= this.#makeAll([...table.values()], context);
    return this.#all ?? this.#making;
  }

  /** Of those that were named; an array has null for what there is not. */
  of(named: readonly (Command | undefined)[]): Reply {
    const most = limits.argumentsAtOnceMax;
    if (named.length > most)
      return error(`ERR too many names of commands: ${most} at most at once`);
    const rows = named.map((command) => command && this.#row(command));
    if (this.#shape === 'array') {
      return { kind: 'array', items: rows.flatMap((row): readonly Reply[] => row ?? [NULL]) };
    }
    const pairs = rows.flatMap((row) => (row === undefined ? [] : [[row[0]!, row[1]!] as const]));
    return { kind: 'map', pairs };
  }

  #row(command: Command): readonly Kept[] {
    const known = this.#rows.get(command);
    if (known !== undefined) return known;
    const made = this.#itemsOf(command).map((item): Kept => {
      return { kind: 'kept', resp2: encodeReply(item, 2), resp3: encodeReply(item, 3) };
    });
    this.#rows.set(command, made);
    return made;
  }

  async #makeAll(commands: readonly Command[], context: NodeContext): Promise<Reply> {
    for (const [at, command] of commands.entries()) {
      if (at % ROWS_STEP === 0) await context.sleep(0);
      this.#row(command);
    }
    const items = commands.flatMap((command) => this.#row(command));
    const resp2 = [Buffer.concat(items.map((item) => item.resp2))];
    const resp3 = [Buffer.concat(items.map((item) => item.resp3))];
    const [shape, units] = [this.#shape, commands.length];
    this.#all = { kind: 'packed', shape, units, resp2, resp3 };
    return this.#all;
  }
}
