/**
 * A read over keys of several partitions: what each of them has is brought here, then the command
 * runs as it does on one partition. Each partition's part is a linearizable read of its own, so the
 * parts together are no snapshot. All are asked at once for a little; those that have more are
 * asked again, one after the other, for what the bound leaves: the memory it takes is known before.
 */
import { messageOf } from '../../common/errors.ts';
import type { PartitionId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import { Gathered, gatherLine, runGathered } from '../commands/cluster/gather.ts';
import { lineBytes } from '../partition/entries/envelope.ts';
import { Pace } from '../partition/turns/pace.ts';
import { orTooLarge, runReply } from '../partition/turns/run-ranges.ts';
import { decodeReply } from '../resp/decode-reply.ts';
import { error, type Reply } from '../resp/reply.ts';
import type { GatherTarget } from './dispatch.ts';
import type { ExclusiveGround } from './exclusive.ts';
import type { WaitingRequest } from './waiting-requests.ts';

/** What one partition has for the command. */
interface Share {
  readonly partition: PartitionId;
  readonly keys: readonly Buffer[];
  /** A bulk of records, nil when they are more than was allowed, or an error. */
  reply: Reply;
}

type Ask = (partition: PartitionId, keys: readonly Buffer[], bytesMax: number) => Promise<Reply>;

export function runGathering(
  ground: ExclusiveGround,
  { args, slot }: WaitingRequest,
  target: GatherTarget,
): void {
  const { clock, watch, session, logger } = ground;
  const { command } = target;
  const arrivedMs = clock.monotonicMs();
  const gone = ground.gone();
  const failed = (failure: unknown) => {
    const problem = messageOf(failure);
    if (!gone.aborted) logger.error('command failed', { command: command.name, error: problem });
    return error(`ERR ${command.name} failed inside the server: ${problem}`);
  };
  void gather(ground, slot, target, gone)
    .catch(failed)
    .then((reply) => {
      if (gone.aborted) return;
      watch.answered(session, command, args, arrivedMs, reply);
      ground.end(slot, reply);
    });
}

async function gather(
  ground: ExclusiveGround,
  slot: object,
  target: GatherTarget,
  gone: AbortSignal,
): Promise<Reply> {
  const { gathers } = target.command;
  const ask: Ask = (partition, keys, bytesMax) =>
    askPartition(ground, slot, partition, gatherLine(gathers!, bytesMax, keys), gone);
  const shares: Share[] = await Promise.all(
    [...target.keys].map(async ([partition, keys]) => {
      return { partition, keys, reply: await ask(partition, keys, limits.gatherFirstBytesMax) };
    }),
  );
  const refused = shares.find(({ reply }) => reply.kind === 'error');
  if (refused !== undefined) return refused.reply;
  if (shares.every(({ reply }) => reply.kind !== 'null')) return run(ground, target, shares, gone);
  const { gatherBudget } = ground;
  if (!gatherBudget.take(limits.gatherBytesMax)) return NODE_FULL;
  try {
    return (await askForRest(shares, ask)) ?? (await run(ground, target, shares, gone));
  } finally {
    gatherBudget.give(limits.gatherBytesMax);
  }
}

/** Takes in the shares that are more than a little, one after the other; an error when that fails. */
async function askForRest(shares: readonly Share[], ask: Ask): Promise<Reply | undefined> {
  let left = limits.gatherBytesMax - shares.reduce((sum, { reply }) => sum + bytesOf(reply), 0);
  for (const share of shares) {
    if (share.reply.kind !== 'null') continue;
    if (left <= 0) return TOO_LARGE;
    share.reply = await ask(share.partition, share.keys, left);
    if (share.reply.kind === 'null') return TOO_LARGE;
    if (share.reply.kind === 'error') return share.reply;
    left -= bytesOf(share.reply);
  }
  return undefined;
}

async function run(
  { clock }: ExclusiveGround,
  target: GatherTarget,
  shares: readonly Share[],
  gone: AbortSignal,
): Promise<Reply> {
  const pause = () =>
    new Promise<void>((resolve, reject) => {
      clock.endOfTurn(() => (gone.aborted ? reject(gone.reason) : resolve()));
    });
  const bodies = shares.map(({ reply }) => (reply.kind === 'bulk' ? reply.bytes : NOTHING));
  const gathered = await Gathered.open(bodies, pause);
  const result = orTooLarge(() => runGathered(target.run, gathered));
  if ('kind' in result) return result;
  const pace = new Pace(clock);
  return runReply(result, gathered, { isDue: (isGlance) => pace.isDue(isGlance), pause });
}

function askPartition(
  { clock, lanes, place }: ExclusiveGround,
  slot: object,
  partition: PartitionId,
  line: readonly Buffer[],
  gone: AbortSignal,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const onGone = () => reject(gone.reason);
    if (gone.aborted) return onGone();
    gone.addEventListener('abort', onGone, { once: true });
    lanes.push(place(partition), {
      slot,
      line,
      kind: 'read',
      bytes: lineBytes(line),
      arrivedMs: clock.monotonicMs(),
      settle: (reply) => {
        gone.removeEventListener('abort', onGone);
        resolve(reply.kind === 'encoded' ? decodeReply(reply.bytes) : reply);
      },
    });
    lanes.start();
  });
}

const NOTHING = Buffer.alloc(0);
const TOO_LARGE = error(
  `ERR the values under these keys, which belong to several partitions, take more than the ` +
    `${limits.gatherBytesMax} bytes that are brought together for one command; give the keys a ` +
    'common hash tag, as in {user1}:name {user1}:mail',
);
const NODE_FULL = error(
  'TRYAGAIN this node holds as much as it may for commands over several partitions; try again, ' +
    'or give the keys a common hash tag',
);

function bytesOf(reply: Reply): number {
  return reply.kind === 'bulk' ? reply.bytes.length : 0;
}
