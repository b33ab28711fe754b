/** What is wrong with a request before anything is asked of it: its name, how many arguments, how long. */
import { limits } from '../../common/limits.ts';
import { shownText } from '../commands/rows/args.ts';
import { type Command, keysOf } from '../commands/rows/command.ts';
import { wrongShape } from '../commands/rows/server-row.ts';
import { CARRIED_AT } from '../commands/sessions/once-line.ts';
import { resolveCommand } from '../commands/table/table.ts';
import type { CommandLine } from '../partition/entries/batch.ts';
import { error, type Reply } from '../resp/reply.ts';

const SHOWN_CHARACTERS_MAX = 128;

/** Undefined: nothing is. `command`: that of `args`; `valueBytesMax`: as the node's settings say. */
export function badShape(
  command: Command,
  args: CommandLine,
  valueBytesMax: number,
): Reply | undefined {
  const { arity, name } = command;
  if (arity > 0 ? args.length !== arity : args.length < -arity) {
    // Redis's DEBUG counts the words of its subcommands itself
    if (name.startsWith('debug|')) return wrongShape(args);
    return error(`ERR wrong number of arguments for '${name}' command`);
  }
  if (command.carries !== undefined) {
    const carried = command.carries(args);
    if (carried === undefined) return unknownCommand(args.slice(CARRIED_AT));
    const wrong = badShape(carried.command, carried.line, valueBytesMax);
    if (wrong !== undefined) return wrong;
  }
  if (command.subcommands && args.length > 1 && resolveCommand(args) === command) {
    return error(`ERR unknown subcommand '${shown(args[1]!)}'. Try ${name.toUpperCase()} HELP.`);
  }
  return tooLong(command, args, valueBytesMax);
}

function tooLong(command: Command, args: CommandLine, valueBytesMax: number): Reply | undefined {
  let longest = 0;
  for (let at = 0; at < args.length; at++) {
    const { length } = args[at]!;
    if (length > longest) longest = length;
    if (length > valueBytesMax) {
      return error(
        `ERR an argument of ${length} bytes is longer than value-bytes-max ` +
          `(${valueBytesMax}); raise it on every datanode or store less in one key`,
      );
    }
  }
  if (command.kind === 'node' || longest <= limits.keyBytesMax) return undefined;
  const long = keysOf(command, args).find((key) => key.length > limits.keyBytesMax);
  return long && error(`ERR a key of ${long.length} bytes is longer than ${limits.keyBytesMax}`);
}

/** Redis's text, with as many arguments as fit 128 characters. */
export function unknownCommand(args: CommandLine): Reply {
  const name = shown(args[0]!);
  let rest = '';
  for (const argument of args.slice(1)) {
    if (rest.length >= SHOWN_CHARACTERS_MAX) break;
    const room = SHOWN_CHARACTERS_MAX - rest.length;
    rest += `'${shownText(argument.subarray(0, room)).slice(0, room)}' `;
  }
  return error(`ERR unknown command '${name}', with args beginning with: ${rest}`);
}

function shown(argument: Buffer): string {
  return shownText(argument.subarray(0, SHOWN_CHARACTERS_MAX));
}
