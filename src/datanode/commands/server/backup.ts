/**
 * KV.BACKUP: one state of a partition, given out as keys of an RDB file page by page. It is what
 * `kvorum backup` sends; any node may be asked, and the one that leads has the shortest way.
 */
import { codeOf, errorTable, messageOf } from '../../../common/errors.ts';
import { array, bulk, error, integer, OK, type Reply } from '../../resp/reply.ts';
import { argument, integerArgument, SYNTAX_ERROR, word } from '../rows/args.ts';
import type { BackupState } from '../rows/backup-port.ts';
import { ArgumentError, type Command, type CommandFlag } from '../rows/command.ts';
import { container, type Run, type Subcommand } from '../rows/server-row.ts';

/** KV.BACKUP OPEN partition [LIBRARIES]: names and values in turn. */
const open: Run = (args, { backups, session }) =>
  answered(async () => {
    const partition = whole(argument(args, 2));
    const [option, more] = args.slice(3);
    if (more !== undefined || (option !== undefined && word(option) !== 'libraries')) {
      throw new ArgumentError(SYNTAX_ERROR);
    }
    const state = await backups.open(session.namespace, partition, option !== undefined);
    return array(fieldsOf(state));
  });

function fieldsOf(state: BackupState): readonly Reply[] {
  const fields = {
    id: state.id,
    group: state.group,
    index: state.index,
    term: state.term,
    'time-ms': state.timeMs,
    keys: state.keys,
    expires: state.expires,
    bytes: state.approximateBytes,
    'rdb-version': state.rdbVersion,
    ...(state.libraries !== undefined && { libraries: state.libraries }),
  };
  return Object.entries(fields).flatMap(([name, value]) => [
    bulk(name),
    typeof value === 'number' ? integer(value) : bulk(value),
  ]);
}

/** KV.BACKUP NEXT id offset: bytes · whether they are the last · keys · CRC-32, of all until now */
const next: Run = (args, { backups }) =>
  answered(async () => {
    const id = argument(args, 2).toString();
    const page = await backups.page(id, whole(argument(args, 3)));
    const { bytes, isLast, keys, expires, crc } = page;
    return array([bulk(bytes), integer(isLast ? 1 : 0), ...[keys, expires, crc].map(integer)]);
  });

/** KV.BACKUP CLOSE id */
const close: Run = (args, { backups }) =>
  answered(async () => {
    await backups.close(argument(args, 2).toString());
    return OK;
  });

/** What it answers, or why it cannot. */
async function answered(run: () => Promise<Reply>): Promise<Reply> {
  try {
    return await run();
  } catch (failure) {
    if (failure instanceof ArgumentError) return error(failure.message);
    const code = codeOf(failure);
    if (code === undefined) throw failure;
    return error(`${errorTable[code].reply} ${code}: ${messageOf(failure)}`);
  }
}

function whole(text: Buffer): number {
  const value = Number(integerArgument(text));
  if (!Number.isSafeInteger(value) || value < 0) throw new ArgumentError(SYNTAX_ERROR);
  return value;
}

const flags: readonly CommandFlag[] = ['admin', 'noscript', 'no_multi'];

const subcommands: readonly Subcommand[] = [
  ['open', -3, '0.1.0', 'Holds a state of a partition of the namespace, to be read.', open],
  ['next', 4, '0.1.0', 'Returns what follows of a state that is held.', next],
  ['close', 3, '0.1.0', 'Lets a state go.', close],
];

const row = container(
  'kv.backup',
  '0.1.0',
  'A container for backups of partitions.',
  flags,
  subcommands,
);

export const backupCommands: readonly Command[] = [
  {
    ...row,
    subcommands: row.subcommands!.map((one) =>
      one.name === 'kv.backup|help' ? one : { ...one, readsAnyKey: true },
    ),
  },
];
