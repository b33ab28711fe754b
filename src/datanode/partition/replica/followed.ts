/** What nodes ask a replica that want to know which keys change, and reads of nothing. */
import { OK, type Protocol } from '../../resp/reply.ts';
import type { AppliedBatch, AppliedEntry } from '../applying/applier.ts';
import type { CommandLine, LineResult } from '../entries/batch.ts';
import type { Reads } from '../reading/reads.ts';
import { FollowedChanges } from '../waiting/followed-changes.ts';
import type { RequestGround } from './request-ground.ts';
import { ownBatch } from './stream-waits.ts';

const NO_WORD = Buffer.alloc(0);

/** The round that it takes part in is what matters. */
export async function readNothing(
  reads: Reads,
  { clock }: Pick<RequestGround, 'clock'>,
  line: CommandLine = [NO_WORD],
  protocol: Protocol = 2,
): Promise<LineResult> {
  const read = { line, run: () => OK, protocol, singlePoint: true };
  return (await reads.gather(ownBatch(read, clock)))[0]!;
}

export function createFollowed(ground: RequestGround, reads: Reads): FollowedChanges {
  const { clock, raft, appliedIndex, wake, requestTurn, changesRoom: room } = ground;
  return new FollowedChanges({
    clock,
    room,
    appliedIndex,
    isLeader: () => raft.role === 'leader',
    committed: () => raft.committed,
    confirm: async () => {
      wake();
      requestTurn();
      const result = await readNothing(reads, ground);
      return result.ok ? undefined : { code: result.code, message: result.message };
    },
  });
}

export function noteChanges(
  followed: FollowedChanges,
  entries: readonly AppliedEntry[],
  { changed }: AppliedBatch,
): void {
  if (!followed.isFollowed) return;
  let commands = 0;
  for (const { replies, served = [] } of entries) commands += replies.length + served.length;
  followed.note({ index: entries.at(-1)!.index, commands, entries: entries.length, changed });
}
