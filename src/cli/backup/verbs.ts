/** `kvorum backup` and its options. */
import { type Command, InvalidArgumentError } from 'commander';
import { several, verb } from '../admin/verbs.ts';
import { clientTls, clientTlsOptions } from '../client-tls.ts';
import { rateOption } from './throttle.ts';

const PARALLEL_MAX = 16;

export function addBackupVerbs(program: Command): void {
  const backup = clientTlsOptions(
    verb(
      program,
      'backup [directory]',
      'write the keys of all partitions into RDB files below a directory, and a manifest',
    ),
  )
    .option('--namespace <name>', 'only these; several: all of them', several)
    .option('--parallel <n>', 'partitions at a time', parallel, 4)
    .option('--rate <bytes>', 'at most so many a second, as 800k or 50m', rateOption, 0)
    .option(
      '--patience <seconds>',
      'how long a partition without a leader is waited for',
      seconds,
      60,
    )
    .option('--resume', 'go on with a backup that was cut off: files that are whole stay')
    .option('--username <name>', 'who logs in at the gateway ports')
    .option('--password <text>', 'with what (or KVORUM_PASSWORD)')
    .action(async (directory: string | undefined, flags, command: Command) => {
      if (directory === undefined) return command.help({ error: true });
      const password = flags.password ?? process.env['KVORUM_PASSWORD'];
      const { placedrivers } = await import('../admin/api.ts');
      const [known] = flags.tls ? placedrivers(flags) : [];
      const how = clientTls(flags, false, known?.authorities);
      await (await import('./backup.ts')).backup(directory, { ...flags, password, how });
    });
  backup
    .command('verify <directory>')
    .description('read all of a backup, and compare it with its manifest')
    .option('--json', 'print JSON')
    .action(async (directory: string, _flags, command: Command) =>
      (await import('./verify.ts')).verifyBackup(directory, command.optsWithGlobals()),
    );
}

function parallel(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= PARALLEL_MAX) return value;
  throw new InvalidArgumentError(`must be 1 to ${PARALLEL_MAX}.`);
}

function seconds(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value >= 0 && text !== '') return value;
  throw new InvalidArgumentError('must be seconds.');
}
