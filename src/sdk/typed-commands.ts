/** Every command of the table as a typed method; the families are written from the table. */
import type { Bytes } from './command-types.ts';
import type { HashCommands } from './commands/hashes.ts';
import type { JsonCommands } from './commands/json.ts';
import type { KeyspaceCommands } from './commands/keyspace.ts';
import type { ListCommands } from './commands/lists.ts';
import type { ServerCommands } from './commands/server.ts';
import type { SetCommands } from './commands/sets.ts';
import type { SortedSetCommands } from './commands/sorted-sets.ts';
import type { StreamCommands } from './commands/streams.ts';
import type { StringCommands } from './commands/strings.ts';

/** Commands whose replies' strings are decoded as UTF-8. */
export interface TextCommands
  extends StringCommands,
    ListCommands,
    HashCommands,
    SetCommands,
    SortedSetCommands,
    StreamCommands,
    JsonCommands,
    KeyspaceCommands,
    ServerCommands {}

/** `Parameters` knows no list that may not be written to, as `Variadic` is. */
type ArgumentsOf<Method> = Method extends (
  ...args: infer Args extends readonly unknown[]
) => unknown
  ? Args
  : never;

/** The same under names that end in `Buffer`: strings of the reply stay bytes. */
export type BufferCommands = {
  readonly [Name in keyof TextCommands as `${Name}Buffer`]: (
    ...args: ArgumentsOf<TextCommands[Name]>
  ) => Promise<Bytes<Awaited<ReturnType<TextCommands[Name]>>>>;
};

/** All typed commands. */
export type Commands = TextCommands & BufferCommands;

/** The same methods, of something that gathers commands: each returns the gatherer. */
export type Gathering<Gatherer> = {
  readonly [Name in keyof Commands]: (...args: ArgumentsOf<Commands[Name]>) => Gatherer;
};
