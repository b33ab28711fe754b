/** `kvorum demo …` and its options. */
import { type Command, InvalidArgumentError } from 'commander';

interface Flags {
  readonly seconds: number;
  readonly kills: number;
  readonly nodes: number;
  readonly partitions: number;
  readonly clients: number;
  readonly json?: boolean;
}

export function addDemoVerbs(program: Command): void {
  program
    .command('demo')
    .description('see for yourself, on a cluster made for it and removed after it')
    .command('kill-leader')
    .description(
      'kill -9 the datanodes that lead most while clients write; exit code 0 only when no ' +
        'acknowledged write was lost, none took effect twice and no client got an error',
    )
    .option('--seconds <n>', 'how long clients write, 2 to 600', whole(2, 600), 15)
    .option('--kills <n>', 'how often, 0 to 100', whole(0, 100), 3)
    .option('--nodes <n>', 'datanodes, 3 to 7', whole(3, 7), 3)
    .option('--partitions <n>', 'partitions, 3 replicas each, 1 to 64', whole(1, 64), 8)
    .option('--clients <n>', 'writes under way at once, 1 to 1024', whole(1, 1_024), 32)
    .option('--json', 'print JSON, and only that')
    .action(async ({ clients, ...rest }: Flags) =>
      (await import('./kill-leader.ts')).killLeader({ ...rest, workers: clients }),
    );
}

/** A parser of an option, for numbers from `lowest` to `highest`. */
function whole(lowest: number, highest: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= lowest && value <= highest) return value;
    throw new InvalidArgumentError(`must be a whole number from ${lowest} to ${highest}.`);
  };
}
