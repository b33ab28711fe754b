/** Errors about consumer groups that are not there, as Redis words them. */
import { error, type Reply } from '../../resp/reply.ts';
import { shownText } from '../rows/args.ts';

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
