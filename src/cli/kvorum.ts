#!/usr/bin/env node
/** The `kvorum` command. */
// before all others
import './node-version.ts';

import { Command } from 'commander';
import { messageOf } from '../common/errors.ts';
import { KVORUM_VERSION } from '../common/version.ts';
import { addAdminVerbs } from './admin/verbs.ts';
import { addBackupVerbs } from './backup/verbs.ts';
import { addCertificateVerbs } from './certificates/verbs.ts';
import { dataDirectory } from './data-flag.ts';
import { addDemoVerbs } from './demo/verbs.ts';
import { addImportVerbs, addRestoreVerbs } from './import/verbs.ts';
import { endWhenUnread, goOnUnheard } from './unread-output.ts';

endWhenUnread(process.stdout, process.argv[2], process.exit, (line) =>
  process.stderr.write(`${line}\n`),
);
goOnUnheard(process.stderr);

const program = new Command('kvorum')
  .description('A strongly consistent, sharded key-value store that speaks the Redis protocol.')
  .version(KVORUM_VERSION, '-v, --version')
  .showHelpAfterError();

program
  .command('start')
  .description('run a whole cluster on this machine')
  .option('--nodes <n>', 'datanodes', '3')
  .option('--partitions <n>', 'partitions of the namespace default', '8')
  .option('--replicas <n>', 'replicas per partition (default: 3, or all nodes when fewer)')
  .option('--data <dir>', 'data directory', dataDirectory, 'kvorum-data')
  .option('--port <port>', 'first gateway port (any key on any node)', '6379')
  .option('--cluster-port <port>', 'first cluster port (Redis Cluster clients)', '7001')
  .option('--http-port <port>', 'HTTP API of the placedriver', '18001')
  .option('--zan-port <port>', "first port for ZanRedisDB's clients (default: none)")
  .option('--etcd <urls>', 'metadata in this etcd (URL[,URL]) instead of the embedded store')
  .option('--etcd-ca <file>', 'of an etcd over https: the authority of its certificate')
  .option('--etcd-cert <file>', 'and the certificate that it is shown')
  .option('--etcd-key <file>', 'of that certificate')
  .option('--fresh', 'delete the data first (only a directory made by kvorum start)')
  .option('--tls', 'speak TLS everywhere, with certificates made in the data directory')
  .option('--no-restart', 'leave a process that died dead')
  .action(async (flags) => (await import('./start.ts')).start(flags));

program
  .command('status')
  .description(
    'show processes and partitions; exit code 0 only when every process is alive, and there is one',
  )
  .option('--data <dir>', 'data directory of kvorum start', dataDirectory, 'kvorum-data')
  .option('--json', 'print JSON')
  .action(async (flags) => (await import('./status.ts')).status(flags));

program
  .command('meta')
  .description('the embedded metadata store')
  .command('restore')
  .description(
    'make the store of a placedriver anew, from what datanodes keep of it: stop the placedriver, ' +
      'restore, start it again',
  )
  .requiredOption('--config <file>', "the placedriver's config file; its store must be gone")
  .requiredOption('--from <dir...>', 'data directories of datanodes: all that can be had')
  .action(async (flags) => (await import('./meta-restore.ts')).metaRestore(flags));

for (const role of ['datanode', 'placedriver'] as const) {
  program
    .command(role)
    .description(`run one ${role} from its config file`)
    .requiredOption('--config <file>', 'YAML file, see configs/')
    .option('--life-line', 'end when standard input ends (set by kvorum start)')
    .action(async (flags) => {
      const { runDatanode, runPlacedriver } = await import('./run-process.ts');
      await (role === 'datanode' ? runDatanode : runPlacedriver)(flags);
    });
}

addAdminVerbs(program);
addCertificateVerbs(program);
addBackupVerbs(program);
addDemoVerbs(program);
addImportVerbs(program);
addRestoreVerbs(program);

program.parseAsync().then(
  () => {},
  (failure) => {
    process.stderr.write(`kvorum: ${messageOf(failure)}\n`);
    process.exit(1);
  },
);
