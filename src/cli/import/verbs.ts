/** The verbs that bring data in, and their options. */
import { type Command, InvalidArgumentError } from 'commander';
import { several } from '../admin/verbs.ts';
import { clientTlsOptions } from '../client-tls.ts';
import { dataDirectory } from '../data-flag.ts';

export function addImportVerbs(program: Command): void {
  place(program.command('import [file]'))
    .description('bring the keys of an RDB file (- for standard input) into a cluster')
    .option('--check', 'only read the file, all of it, and say what is in it')
    .option('--dry-run', 'write nothing: say what would be imported, and what is there already')
    .option('--on-conflict <what>', 'of keys that are there: fail, skip or replace', 'fail')
    .option('--functions <what>', FUNCTIONS)
    .option('--db <n>', 'only this database of the file', whole)
    .option('--namespace <name>', 'into this namespace (default: 0 into default, n into db<n>)')
    .option('--match <pattern>', 'only keys that match this glob (not with --follow)')
    .option('--from <url>', 'or from a running Redis: redis[s]://[user:password@]host:port')
    .option('--follow', 'then go on with what it does, until Ctrl-C')
    .option('--until-caught-up', 'the same, until nothing comes any more and all is there')
    .option('--begin-anew', 'empty the namespaces that are filled first')
    .action(async (file, flags) => {
      const { importFrom } = await import('./import.ts');
      await importFrom(file, flags);
    });
}

export function addRestoreVerbs(program: Command): void {
  place(program.command('restore <directory>'))
    .description('bring the namespaces of a backup into a cluster, whatever its nodes are')
    .option('--namespace <name>', 'only these; several: all of them', several)
    .option('--as <name>', 'into a namespace of another name')
    .option('--partitions <n>', 'of a namespace that is made (default: as it was)', oneOrMore)
    .option('--replicas <n>', 'the same (default: as it was, or all nodes when fewer)', oneOrMore)
    .option(
      '--on-conflict <what>',
      'into one with keys too: of keys that are there skip or replace',
    )
    .option('--functions <what>', FUNCTIONS)
    .option('--parallel <n>', 'files at a time', oneOrMore, 4)
    .option('--token <token>', 'of the placedriver, where one is configured (or KVORUM_TOKEN)')
    .action(async (directory, flags) =>
      (await import('../restore/restore.ts')).restore(directory, flags),
    );
}

const FUNCTIONS =
  'of libraries of functions that are there with other code: fail, skip or replace (default: as ' +
  '--on-conflict); none: leave out all of them (default with --match)';

/** Where the keys go. */
function place(command: Command): Command {
  return clientTlsOptions(command)
    .option('--ca <file>', 'whom to believe over TLS (default: what --data tells, or Node.js)')
    .option('--url <url>', 'a placedriver, http://host:port; several: any one will do', several)
    .option(
      '--data <dir>',
      'or the data directory of kvorum start (default: kvorum-data)',
      dataDirectory,
    )
    .option('--to <url>', 'or a gateway port, redis[s]://[user:password@]host:port')
    .option('--username <name>', 'of the cluster, if not the user default')
    .option('--password <text>', 'of that user (or KVORUM_PASSWORD)')
    .option('--json', 'print JSON');
}

function whole(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0) return value;
  throw new InvalidArgumentError('must be a whole number.');
}

/** With none at a time nothing would be done, and that be called a success. */
function oneOrMore(text: string): number {
  const value = whole(text);
  if (value > 0) return value;
  throw new InvalidArgumentError('must be 1 or more.');
}
