/**
 * WAIT and WAITAOF: a write is answered once a quorum has it on disk, so there is nothing to wait
 * for. They answer at once with what is known for sure, also when more was asked for.
 */
import { parseInteger } from '../../encoding/strings/string.ts';
import { array, error, integer } from '../../resp/reply.ts';
import { argument, NOT_AN_INTEGER } from '../rows/args.ts';
import { type Command, NO_KEYS, node } from '../rows/command.ts';

/** A text when it is no time to wait. */
function timeoutProblem(arg: Buffer): string | undefined {
  const timeout = parseInteger(arg);
  if (timeout === undefined) return 'ERR timeout is not an integer or out of range';
  return timeout < 0 ? 'ERR timeout is negative' : undefined;
}

function countProblem(arg: Buffer): string | undefined {
  const count = parseInteger(arg);
  if (count === undefined) return NOT_AN_INTEGER;
  return count < 0 ? 'ERR value is out of range, must be positive' : undefined;
}

function localProblem(arg: Buffer): string | undefined {
  const count = parseInteger(arg);
  if (count === undefined) return NOT_AN_INTEGER;
  return count < 0 || count > 1
    ? 'ERR value is out of range, value must between 0 and 1'
    : undefined;
}

const columns = {
  flags: ['noscript'],
  keys: NO_KEYS,
  categories: ['connection'],
  group: 'generic',
} as const;

export const waitCommands: readonly Command[] = [
  /** WAIT numreplicas timeout */
  node({
    ...columns,
    name: 'wait',
    arity: 3,
    since: '3.0.0',
    summary: 'Returns how many followers hold the writes before it: a quorum without the leader.',
    run: (args, context) => {
      const count = parseInteger(argument(args, 1)) === undefined ? NOT_AN_INTEGER : undefined;
      const problem = count ?? timeoutProblem(argument(args, 2));
      return problem ? error(problem) : integer(context.followersInSync());
    },
  }),
  /** WAITAOF numlocal numreplicas timeout */
  node({
    ...columns,
    name: 'waitaof',
    arity: 4,
    since: '7.2.0',
    summary: 'Returns on how many disks the writes before it are: the leader, and its followers.',
    run: (args, context) => {
      const problem =
        localProblem(argument(args, 1)) ??
        countProblem(argument(args, 2)) ??
        timeoutProblem(argument(args, 3));
      return problem ? error(problem) : array([integer(1), integer(context.followersInSync())]);
    },
  }),
];
