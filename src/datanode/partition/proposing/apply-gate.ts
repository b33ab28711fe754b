/**
 * Keeps out of the log what a member of the group would stop at, or carry out in another way, because
 * its node runs an older build: commands, and forms of commands, that came with a later apply version.
 * A replica that meets such an entry nevertheless (its node was downgraded since) stops undamaged.
 */

import { isOnceLine } from '../../commands/sessions/once-line.ts';
import { newestIn } from '../../commands/table/applies-from.ts';
import { error, type Reply } from '../../resp/reply.ts';
import type { CommandLine } from '../entries/batch.ts';
import { APPLY_VERSION, UNTOLD_APPLY_VERSION } from '../entries/envelope.ts';

/** A node with a member of the group that does not apply entries of `version`; undefined: all do. */
export type OlderNode = (version: number) => string | undefined;

/** The highest apply version that no member is too old for. */
export function newestOfAll(olderNode: OlderNode): number {
  let version = APPLY_VERSION;
  while (version > UNTOLD_APPLY_VERSION && olderNode(version) !== undefined) version--;
  return version;
}

/** What `line` is answered when a member's node is too old for it; undefined: it may be proposed. */
export function refusalOfNewer(line: CommandLine, olderNode: OlderNode): Reply | undefined {
  const { version, name } = newestIn(line);
  // what is not newer than nodes tell of themselves was never held back
  if (version <= UNTOLD_APPLY_VERSION) return undefined;
  const node = olderNode(version);
  if (node === undefined) return undefined;
  // what is sent under a session may have taken effect before, when all members knew it
  const nothing = isOnceLine(line) ? '' : '; nothing happened';
  return error(
    `ERR '${name}' as it is asked for here is not known to ${node}, which has a replica of this ` +
      'partition and runs an older kvorum: upgrade it first (kvorum upgrade begin, restart it with ' +
      `this version, kvorum upgrade done)${nothing}`,
  );
}
