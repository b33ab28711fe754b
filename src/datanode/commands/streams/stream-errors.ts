/** Errors about consumer groups that are not there, as Redis words them. */
import { error, type Reply } from '../../resp/reply.ts';
import { SYNTAX_ERROR, shownText } from '../rows/args.ts';
import { ArgumentError } from '../rows/command.ts';
import { wrongShape } from '../rows/server-row.ts';

export const NO_GROUP_LEFT = error('ERR the stream has had as many groups as it can ever have');
export const NO_CONSUMER_LEFT = error(
  'ERR the group has had as many consumers as it can ever have; create another group',
);

/** Of XGROUP and XINFO, once the key was found. */
export function noGroupOf(key: Buffer, group: Buffer): Reply {
  return error(
    `NOGROUP No such consumer group '${shownText(group)}' for key name '${shownText(key)}'`,
  );
}

/** Of commands that want both. */
export function noKeyOrGroup(key: Buffer, group: Buffer, where = ''): Reply {
  return error(
    `NOGROUP No such key '${shownText(key)}' or consumer group '${shownText(group)}'${where}`,
  );
}

/** Of subcommands with other words than they take. */
export function wrongSubcommand(args: readonly Buffer[]): ArgumentError {
  const refusal = wrongShape(args);
  return new ArgumentError(refusal.kind === 'error' ? refusal.text : SYNTAX_ERROR);
}
