/** The command line of the micro-benchmarks. */
import { listOf, number, parseWords } from '../../tools/command-line.ts';
import { type RoomName, roomNames } from './rooms.ts';

export interface MicroOptions {
  readonly help: boolean;
  readonly only: readonly RoomName[];
  readonly seconds: number;
  readonly json: string | undefined;
  readonly against: string | undefined;
}

export const microHelp = `npm run bench:micro -- [options]

Measures the rooms of the hot path one by one, each alone in a process, without sockets or disks:
nanoseconds of one command as the least of many slices of 3 ms, and instructions of one command where
perf can count them.

  --only LIST       some of ${roomNames.slice(0, 5).join(',')},
                    ${roomNames.slice(5).join(',')}
  --seconds N       for each room (default 3)
  --json FILE       write the figures to FILE
  --against FILE    show them beside the figures of an earlier --json
  --help            this text

How to read it: compare the least of two versions on one machine, run in turn, three times each. A
difference below 3 % is none; the median says how much the machine was disturbed. Instructions do
not depend on what else runs: a change of 1 % there is one of the code. Where perf has no counter
(most virtual machines) there are only the times. On a machine of your own, to allow it for
programs of yours: sysctl kernel.perf_event_paranoid=2 or lower.`;

/** Throws an error that says which option is wrong. */
export function parseMicroOptions(args: readonly string[]): MicroOptions {
  const { help, only, seconds, json, against } = parseWords(args, words);
  const chosen = only === undefined ? roomNames : listOf('--only', only, roomNames);
  return {
    help,
    only: roomNames.filter((name) => chosen.includes(name)),
    seconds: number('--seconds', seconds, 0.1, 600),
    ...{ json, against },
  };
}

const words = {
  help: { type: 'boolean', short: 'h', default: false },
  only: { type: 'string' },
  seconds: { type: 'string', default: '3' },
  json: { type: 'string' },
  against: { type: 'string' },
} as const;
