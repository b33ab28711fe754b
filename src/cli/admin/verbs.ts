/** The verbs that talk to a placedriver, and their options. */
import { type Command, InvalidArgumentError } from 'commander';
import { dataDirectory } from '../data-flag.ts';

export function addAdminVerbs(program: Command): void {
  addNamespaceVerbs(program);
  addNodeVerbs(program);
  addPartitionVerbs(program);
  addControlVerbs(program);
}

/** A verb with the options that all of them have. */
export function verb(parent: Command, usage: string, description: string): Command {
  return (
    parent
      .command(usage)
      .description(description)
      // never `<urls...>`: that takes the arguments that follow for more of them
      .option('--url <url>', 'a placedriver, http://host:port; several: any one will do', several)
      // without a default: what was not given may be passed over, what was given may not
      .option(
        '--data <dir>',
        'or the data directory of kvorum start (default: kvorum-data)',
        dataDirectory,
      )
      .option('--token <token>', 'for writes, where one is configured (or KVORUM_TOKEN)')
      .option('--ca <file>', 'whom to believe at https:// (default: what --data tells, or Node.js)')
      .option('--json', 'print JSON')
  );
}

function addNamespaceVerbs(program: Command): void {
  const namespaces = verb(program, 'namespaces', 'list namespaces').action(async (flags) =>
    (await import('./namespaces.ts')).listNamespaces(flags),
  );
  const options = (command: Command) =>
    command
      .option('--replicas <n>', 'replicas per partition, 1 to 7', whole)
      .option('--tag <tag>', 'only on nodes with these tags, each name or name=value', several)
      .option('--reads <mode>', 'linearizable, or lease (faster, trusts clocks)');
  options(
    verb(
      namespaces,
      'create <name>',
      'make a namespace: --partitions and --replicas must be given',
    ),
  )
    .option('--partitions <n>', '1 to 1024; never changes', whole)
    .option('--hash <kind>', 'slots (Redis Cluster) or murmur3 (ZanRedisDB); never changes')
    .action(async (name, _flags, command) =>
      (await import('./namespaces.ts')).createNamespace(name, command.optsWithGlobals()),
    );
  options(verb(namespaces, 'update <name>', 'change replicas, tags or reads')).action(
    async (name, _flags, command) =>
      (await import('./namespaces.ts')).updateNamespace(name, command.optsWithGlobals()),
  );
  verb(namespaces, 'delete <name>', 'delete a namespace and destroy its data')
    .option('--yes', 'yes, destroy it')
    .action(async (name, _flags, command) =>
      (await import('./namespaces.ts')).deleteNamespace(name, command.optsWithGlobals()),
    );
}

function addNodeVerbs(program: Command): void {
  verb(program, 'nodes', 'list datanodes, what they hold and whether something moves').action(
    async (flags) => (await import('./nodes.ts')).listNodes(flags),
  );
  verb(program, 'drain <node>', 'move everything away from a datanode, and wait for it')
    .option('--cancel', 'take that back')
    .option('--no-wait', 'do not wait')
    .action(async (node, flags) => (await import('./nodes.ts')).drain(node, flags));
}

function addPartitionVerbs(program: Command): void {
  verb(program, 'partitions [namespace]', 'list partitions, their leaders and replicas').action(
    async (namespace, flags) =>
      (await import('./namespaces.ts')).listPartitions(namespace ?? 'default', flags),
  );
  verb(program, 'move <partition> <from> <to>', 'move a replica (default/3 datanode1 datanode4)')
    .option('--no-wait', 'do not wait')
    .action(async (partition, from, to, flags) =>
      (await import('./moves.ts')).move(partition, from, to, flags),
    );
  verb(program, 'transfer-leader <partition> <node>', 'let a replica lead its partition')
    .option('--no-wait', 'do not wait')
    .action(async (partition, node, flags) =>
      (await import('./moves.ts')).transferLeader(partition, node, flags),
    );
  verb(program, 'rebuild <partition>', 'after its quorum is lost for ever: go on with one replica')
    .requiredOption('--survivor <node>', 'the datanode whose replica is kept')
    .option('--confirm <text>', 'asked for when it is missing')
    .action(async (partition, flags) => (await import('./moves.ts')).rebuild(partition, flags));
}

function addControlVerbs(program: Command): void {
  verb(program, 'balance [on|off]', 'whether replicas move to be more even, and which would')
    .option('--window <times>', 'only then: 22:00-06:00 (UTC), or any')
    .action(async (state, flags) => (await import('./control.ts')).balance(state, flags));
  verb(program, 'upgrade [begin|done]', 'no replica moves between begin and done').action(
    async (step, flags) => (await import('./control.ts')).upgrade(step, flags),
  );
  verb(program, 'stable-nodes', 'show the stable node count, or lower it')
    .argument('[count]', 'it never rises this way', whole)
    .action(async (count, flags) => (await import('./control.ts')).stableNodes(count, flags));
}

/** Of an option that may be given again, or with commas: all of them. */
export function several(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...text.split(',').map((one) => one.trim())];
}

function whole(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0) return value;
  throw new InvalidArgumentError('must be a whole number.');
}
