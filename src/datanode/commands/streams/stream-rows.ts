/** What rows of streams have in common (redis.io, "Redis Streams"). */
import { applyVersions } from '../rows/apply-versions.ts';
import { word } from '../rows/args.ts';
import { FIRST_KEY } from '../rows/command.ts';

export const streamColumn = {
  categories: ['stream'],
  group: 'stream',
  keys: FIRST_KEY,
} as const;

/** Subcommands have their key behind their name. */
export const SECOND_KEY = { first: 2, last: 2, step: 1 };

/** Builds before streams do not carry out what writes them. */
export const fromStreams = (): number => applyVersions.streams;

const STREAMS = 'streams';
/** Options of XREAD and XREADGROUP before STREAMS, and how many arguments each has. */
const optionArguments: ReadonlyMap<string, number> = new Map([
  ['block', 1],
  ['claim', 1],
  ['count', 1],
  ['group', 2],
  ['noack', 0],
]);

/** Whether an option stands before STREAMS. */
export function hasReadOption(args: readonly Buffer[], wanted: string): boolean {
  for (let at = 1; at < args.length; ) {
    const option = word(args[at]!);
    if (option === wanted) return true;
    const more = optionArguments.get(option);
    if (more === undefined) return false;
    at += 1 + more;
  }
  return false;
}

/** Where the keys of XREAD or XREADGROUP begin, and how many there are; 0 of a malformed line. */
export function streamKeys(args: readonly Buffer[]): {
  readonly at: number;
  readonly count: number;
} {
  let at = 1;
  while (at < args.length) {
    // as the command itself reads them: it must be asked for the keys that it reads
    const option = word(args[at]!);
    if (option === STREAMS) break;
    const more = optionArguments.get(option);
    if (more === undefined) return { at, count: 0 };
    at += 1 + more;
  }
  const rest = args.length - at - 1;
  return { at: at + 1, count: rest > 0 && rest % 2 === 0 ? rest / 2 : 0 };
}

export function keysOfRead(args: readonly Buffer[]): readonly Buffer[] {
  const { at, count } = streamKeys(args);
  return args.slice(at, at + count);
}
