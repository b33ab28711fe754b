/**
 * How long commands over collections of a million elements hold the event loop of a node: the CPU
 * time of the longest turn beside the 5 ms it may take, and how long each command takes as a whole.
 * In a process of its own, which is a node and its client on one event loop (program.ts).
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeEnvironment, nodeFlags } from '../../src/cli/node-flags.ts';
import { run } from '../../tools/children.ts';
import type { Scenario, Stage } from '../scenario.ts';
import type { Judged } from '../targets.ts';
import { type Group, heldNames } from './commands.ts';
import { HEAD_LINE, type Hold, lineOf } from './measure.ts';

const script = join(fileURLToPath(new URL('.', import.meta.url)), 'program.js');
/** What issue 4 allows: a command never holds the event loop longer at a time. */
const BOUND_MS = 5;
const START_SECONDS = 20;
/** For a thousand elements: filling, and all commands once. */
const SECONDS_PER_1000 = 0.6;
const TIMES_MAX = 5;

/** What the program is told. */
export interface HoldsTold {
  /** Empty: for data. */
  readonly directory: string;
  readonly elements: number;
  readonly groups: readonly Group[];
  /** Only commands of these names, in lower case. */
  readonly only?: readonly string[] | undefined;
  /** To tell what ran in the longest turn of each; it takes longer with that. */
  readonly profile?: boolean;
}

const groups: readonly (readonly [Group, string])[] = [
  ['reads', 'reads of a collection'],
  ['writes', 'writes of a collection'],
  ['carrying', 'commands of 20,000 arguments'],
  ['values', 'strings of 16 MiB'],
];

const secondsOf = (elements: number) => START_SECONDS + (elements / 1_000) * SECONDS_PER_1000;

export const holds: Scenario = {
  text: 'longest holds of the event loop by commands over large collections',
  seconds: ({ elements }) => secondsOf(elements),
  async measure(stage) {
    const judged: Judged[] = [];
    for (const [group, text] of groups) {
      if (!isAsked(group, stage.options)) continue;
      const found = await measureGroup(stage, group);
      judged.push(longest(text, found), slowest(text, found));
    }
    return judged;
  },
};

/** Whether it has one of the commands that are to be measured: filling alone takes minutes. */
function isAsked(group: Group, { commands }: Stage['options']): boolean {
  return heldNames(group).some((name) => commands?.includes(name) ?? true);
}

async function measureGroup({ options, directory, progress }: Stage, group: Group) {
  const { elements, commands: only, profile } = options;
  const told: HoldsTold = {
    ...{ directory: join(directory, group), elements, groups: [group], only, profile },
  };
  const found: Hold[] = [];
  progress(`holds, ${group}: ${HEAD_LINE}`);
  const outcome = await run(
    process.execPath,
    [...nodeFlags('datanode', 1), script, JSON.stringify(told)],
    {
      timeoutMs: TIMES_MAX * secondsOf(elements) * 1_000,
      env: nodeEnvironment(process.env) as Record<string, string>,
      onOutput(stdout) {
        const lines = stdout.split('\n').slice(0, -1);
        for (const line of lines.slice(found.length)) {
          found.push(JSON.parse(line) as Hold);
          progress(`holds: ${lineOf(found.at(-1)!)}`);
          for (const stack of found.at(-1)!.stacks ?? []) progress(`holds:   ${stack}`);
        }
      },
    },
  );
  if (outcome.code !== 0) {
    throw new Error(`holds ended with ${outcome.code}: ${outcome.stderr.trim()}`);
  }
  return found;
}

function longest(text: string, found: readonly Hold[]): Judged {
  const [worst] = [...found].sort((a, b) => b.ownMs - a.ownMs);
  const beyond = found.filter(({ ownMs }) => ownMs > BOUND_MS);
  return {
    text: `longest turn: ${text}`,
    ...{ unit: 'ms', better: 'less', reach: BOUND_MS, goal: BOUND_MS, measured: worst?.ownMs },
    note:
      `CPU without the garbage collector: ${worst?.name}; ${beyond.length} of ${found.length} ` +
      `commands beyond; with the collector ${Math.max(...found.map(({ cpuMs }) => cpuMs)).toFixed(0)} ms`,
  };
}

/** A request is answered within two minutes, however much it does. */
function slowest(text: string, found: readonly Hold[]): Judged {
  const [worst] = [...found].sort((a, b) => b.totalMs - a.totalMs);
  return {
    text: `slowest: ${text}`,
    ...{ unit: 's', better: 'less', reach: 60, goal: 10 },
    measured: worst === undefined ? undefined : worst.totalMs / 1_000,
    note: worst?.name ?? '',
  };
}
