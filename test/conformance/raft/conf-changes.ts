/** Replays the cases of one confchange file. */
import {
  type ConfChangeError,
  type ConfChangeResult,
  enterJoint,
  leaveJoint,
  simple,
} from '../../../src/datanode/raft/conf-change.ts';
import { Tracker } from '../../../src/datanode/raft/tracker.ts';
import { type Case, valueAt } from './datadriven.ts';
import { describeConf, describeProgress, parseSteps } from './describe.ts';

const SENTENCES: Readonly<Record<ConfChangeError, string>> = {
  'already-joint': 'config is already joint',
  'not-joint': "can't leave a non-joint config",
  'no-voters-to-join': "can't make a zero-voter config joint",
  'simple-in-joint': "can't apply simple config change in joint config",
  'removes-all-voters': 'removed all voters',
  'several-voters': 'more than one voter changed without entering joint config',
};

/** What each case prints, line by line. The last index is the number of cases before it. */
export function replayConfChange(cases: readonly Case[]): string[][] {
  const tracker = new Tracker(10, Number.POSITIVE_INFINITY);
  return cases.map((each, lastIndex) => {
    const result = change(tracker, each);
    if (!result.ok) return [SENTENCES[result.error]];
    tracker.switchTo(result.conf, lastIndex);
    const members = tracker.members.map(
      (id) => `${id}: ${describeProgress(tracker.member(id).status())}`,
    );
    return [describeConf(tracker.conf), ...members];
  });
}

function change(
  tracker: Tracker,
  { command, arguments: args, input, line }: Case,
): ConfChangeResult {
  const steps = parseSteps(input.join(' '));
  if (command === 'simple') return simple(tracker.conf, steps);
  if (command === 'leave-joint') return leaveJoint(tracker.conf);
  if (command === 'enter-joint') {
    return enterJoint(tracker.conf, valueAt(args, 'autoleave') === 'true', steps);
  }
  throw new Error(`line ${line}: unknown command ${command}`);
}
