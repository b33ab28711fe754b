/** Replays one case of the quorum files. */
import {
  jointCommitted,
  jointVote,
  majorityCommitted,
  majorityVote,
} from '../../../src/datanode/raft/quorum.ts';
import { type Case, valuesOf } from './datadriven.ts';

/** The last line that the case shall print. Throws when a law of quorums is broken on the way. */
export function replayQuorum({ command, arguments: args, line }: Case): string {
  const ids = (key: string) =>
    unique((valuesOf(args, key) ?? []).filter((id) => id !== 'zero').map(Number));
  const voters = ids('cfg');
  const votersOutgoing = ids('cfgj');
  const all = unique([...voters, ...votersOutgoing]);
  const marks = valuesOf(args, command === 'vote' ? 'votes' : 'idx') ?? [];
  if (command === 'vote') return replayVote(voters, votersOutgoing, all, marks);
  if (command === 'committed') return replayCommitted(voters, votersOutgoing, all, marks);
  throw new Error(`line ${line}: unknown command ${command}`);
}

function replayVote(
  voters: number[],
  votersOutgoing: number[],
  all: number[],
  marks: readonly string[],
): string {
  const votes = new Map<number, boolean>();
  all.forEach((id, i) => {
    if (marks[i] === 'y' || marks[i] === 'n') votes.set(id, marks[i] === 'y');
  });
  const result = jointVote({ voters, votersOutgoing }, votes);
  same(result, jointVote({ voters: votersOutgoing, votersOutgoing: voters }, votes), 'swapped');
  if (votersOutgoing.length === 0) {
    same(result, majorityVote(voters, votes), 'alone');
    same(result, jointVote({ voters, votersOutgoing: voters }, votes), 'joined with itself');
  }
  return { won: 'VoteWon', lost: 'VoteLost', pending: 'VotePending' }[result];
}

function replayCommitted(
  voters: number[],
  votersOutgoing: number[],
  all: number[],
  marks: readonly string[],
): string {
  const indexes = new Map<number, number>();
  all.forEach((id, i) => {
    const mark = marks[i];
    if (mark !== undefined && mark !== '_') indexes.set(id, Number(mark));
  });
  const of = (id: number) => indexes.get(id);
  const result = jointCommitted({ voters, votersOutgoing }, of);
  same(result, jointCommitted({ voters: votersOutgoing, votersOutgoing: voters }, of), 'swapped');
  if (votersOutgoing.length === 0) {
    same(result, majorityCommitted(voters, of), 'alone');
    same(result, jointCommitted({ voters, votersOutgoing: voters }, of), 'joined with itself');
  }
  for (const [id, index] of indexes) {
    if (index === 0 || index >= result) continue;
    const lowered = (other: number) => (other === id ? index - 1 : indexes.get(other));
    same(result, jointCommitted({ voters, votersOutgoing }, lowered), 'with a laggard lowered');
  }
  return result === Number.POSITIVE_INFINITY ? '∞' : String(result);
}

function same<T>(a: T, b: T, how: string): void {
  if (a !== b) throw new Error(`the result changes when ${how}: ${a}, ${b}`);
}

function unique(ids: number[]): number[] {
  return [...new Set(ids)];
}
