/** COPY … DB n in a namespace other than `default`: 0 is not the one that the connection is in. */
import type { Namespace } from '../../common/ids.ts';
import { word } from '../commands/rows/args.ts';
import { type Command, carriedOut } from '../commands/rows/command.ts';
import type { CommandLine } from '../partition/entries/batch.ts';
import { error, type Reply } from '../resp/reply.ts';

const OPTIONS_AT = 3;

const elsewhere = error(
  'ERR COPY with DB is not offered in this namespace: namespaces have partitions of their own, and ' +
    'nothing is atomic over partitions; leave DB out, or copy with DUMP and RESTORE',
);

export function refusedCopy(
  command: Command,
  args: CommandLine,
  namespace: Namespace,
): Reply | undefined {
  if (namespace === 'default') return undefined;
  const { command: row, line } = carriedOut(command, args);
  if (row.name !== 'copy') return undefined;
  const names = line.slice(OPTIONS_AT).some((arg) => word(arg) === 'db');
  return names ? elsewhere : undefined;
}
