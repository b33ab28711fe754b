/** SLOWLOG: the commands of this node's clients that took longest, from arrival to answer. */
import { parseInteger } from '../../encoding/strings/string.ts';
import { array, bulk, error, integer, OK, type Reply } from '../../resp/reply.ts';
import type { Command } from '../rows/command.ts';
import type { SlowEntry } from '../rows/node-watch.ts';
import { container, type Run, wrongShape } from '../rows/server-row.ts';

const COUNT = 10;

/** SLOWLOG GET [count]: −1 is all. */
const get: Run = (args, { watch }) => {
  if (args.length > 3) return wrongShape(args);
  const count = args[2] === undefined ? COUNT : parseInteger(args[2]);
  if (count === undefined || count < -1) {
    return error('ERR count should be greater than or equal to -1');
  }
  return array(watch.slowLog.newest(Number(count)).map(entryReply));
};

function entryReply(entry: SlowEntry): Reply {
  const { id, atSeconds, microseconds, args, client, clientName } = entry;
  return array([
    integer(id),
    integer(atSeconds),
    integer(microseconds),
    array(args.map((arg) => bulk(arg))),
    bulk(client),
    bulk(clientName),
  ]);
}

const reset: Run = (_args, { watch }) => {
  watch.slowLog.reset();
  return OK;
};

export const slowLogCommands: readonly Command[] = [
  container(
    'slowlog',
    '2.2.12',
    'A container for slow log commands.',
    ['admin', 'loading', 'stale'],
    [
      ['get', -2, '2.2.12', 'Returns the newest entries.', get],
      ['len', 2, '2.2.12', 'Counts the entries.', (_args, c) => integer(c.watch.slowLog.length)],
      ['reset', 2, '2.2.12', 'Forgets all entries.', reset],
    ],
  ),
];
