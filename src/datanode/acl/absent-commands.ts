/**
 * Commands of Redis 7.2 that kvorum has not: rules may name them, so that users written for Redis can
 * be loaded as they are. Nobody can run them.
 */
const subcommands: Readonly<Record<string, string>> = {
  module: 'load loadex unload',
};

const plain = 'failover migrate pfdebug replicaof slaveof';

/** In lower case, subcommands as `script|load`. */
export const absentCommands: ReadonlySet<string> = new Set([
  ...plain.split(' '),
  ...Object.entries(subcommands).flatMap(([container, names]) =>
    names.split(' ').map((name) => `${container}|${name}`),
  ),
]);
