/**
 * Commands that this build has no row of. Between nodes and in the log a newer build may have put
 * them: what such a one comes to is known there, and nothing may be made of it here.
 */
import { ByteRangeError } from '../../../common/bytes.ts';
import { KvorumError } from '../../../common/errors.ts';
import { type Command, carriedOut } from '../rows/command.ts';
import { CARRIED_AT } from '../sessions/once-line.ts';
import { execHeads } from './exec-line.ts';

type Line = readonly Buffer[];
type Resolve = (line: Line) => Command | undefined;

/** Longer names are cut where they are shown. */
const SHOWN_BYTES = 64;

/**
 * What nobody here knows of `line`, of which `command` is the row: its command, its subcommand, or the
 * command that it carries. Undefined: all is known, or malformed, which every build refuses.
 */
export function unknownOf(
  command: Command | undefined,
  line: Line,
  resolve: Resolve,
): string | undefined {
  if (line.length === 0) return undefined;
  if (command === undefined) return shown(line.slice(0, 1));
  // the row of the container: it has none of that name
  if (command.subcommands !== undefined && line.length > 1) return shown(line.slice(0, 2));
  if (command.carries === undefined) return undefined;
  const inner = line.slice(CARRIED_AT);
  const carried = resolve(inner);
  return carried?.carries === undefined ? unknownOf(carried, inner, resolve) : undefined;
}

/** The same, also of the commands of a transaction. */
export function unknownIn(line: Line, resolve: Resolve): string | undefined {
  const row = resolve(line);
  const unknown = unknownOf(row, line, resolve);
  if (unknown !== undefined || row === undefined) return unknown;
  const { command, line: inner } = carriedOut(row, line);
  if (command.name !== 'exec') return undefined;
  try {
    for (const head of execHeads(inner, CARRIED_AT + 2)) {
      const of = unknownOf(resolve(head), head, resolve);
      if (of !== undefined) return of;
    }
  } catch (failure) {
    if (!(failure instanceof ByteRangeError)) throw failure;
  }
  return undefined;
}

/** Why a replica that meets `name` in its log stops: others carried it out. */
export function tooNew(name: string): KvorumError {
  const text = `the log holds '${name}', a command that this build does not know`;
  return new KvorumError('TOO_NEW', `${text}; upgrade kvorum on this node`);
}

function shown(words: Line): string {
  return words.map((word) => word.toString('latin1', 0, SHOWN_BYTES)).join(' ');
}
