/**
 * Which commands of a log entry know of the deadlines of hash fields in dumps: builds that do not would
 * carry them out otherwise, so their entry is not for those.
 */
import { ByteRangeError } from '../../../common/bytes.ts';
import { rdbVersionOf, rdbVersions } from '../../encoding/rdb/rdb-payload.ts';
import { CARRIED_AT, isOnceLine } from '../sessions/once-line.ts';
import { execLinesOf, isExecLine } from '../transactions/exec-line.ts';

type Line = readonly Buffer[];

const PAYLOAD_AT = 3;

/** Whether `line`, what it carries, or a command of its transaction is one of them. */
export function knowsFieldDeadlines(line: Line): boolean {
  const inner = isOnceLine(line) ? line.slice(CARRIED_AT) : line;
  if (!isExecLine(inner)) return isDumpOrRestore(inner[0]) && isOfThem(inner);
  try {
    for (const queued of execLinesOf(inner, isDumpOrRestore)) if (isOfThem(queued)) return true;
  } catch (failure) {
    // no build carries it out
    if (!(failure instanceof ByteRangeError)) throw failure;
  }
  return false;
}

const NAMES: readonly (string | undefined)[] = Array.from({ length: 8 }, (_, length) =>
  ['dump', 'restore'].find((name) => name.length === length),
);

/** Its length spares most names the comparison. */
function isDumpOrRestore(name: Buffer | undefined): boolean {
  const known = NAMES[name?.length ?? 0];
  return known !== undefined && name!.toString('latin1').toLowerCase() === known;
}

/** DUMP, or RESTORE of what may have such deadlines. */
function isOfThem(line: Line): boolean {
  if (line[0]!.length === 'dump'.length) return true;
  const payload = line[PAYLOAD_AT];
  return payload !== undefined && rdbVersionOf(payload) === rdbVersions.withFieldDeadlines;
}
