/**
 * Commands of a connection that run alone, once all before them are answered (decision 10a): of the
 * node itself, over several partitions, a transaction, and those that may wait for an element.
 */
import type { Clock } from '../../common/clock.ts';
import { messageOf } from '../../common/errors.ts';
import type { PartitionId } from '../../common/ids.ts';
import type { Logger } from '../../common/log.ts';
import { ownList } from '../../common/own-bytes.ts';
import type { Random } from '../../common/random.ts';
import type { NodeCommand, ReadCommand, WriteCommand } from '../commands/rows/command.ts';
import type { NodeContext, Session } from '../commands/rows/node-context.ts';
import type { CommandLine } from '../partition/entries/batch.ts';
import { lineBytes } from '../partition/entries/envelope.ts';
import { error, type Reply } from '../resp/reply.ts';
import type { BlockedClient, BlockedRequest } from './blocked-client.ts';
import type { CommandWatch } from './command-watch.ts';
import type { DataCommand, Target } from './dispatch.ts';
import { mergeReplies, type Part, type PartAnswer } from './fan-out.ts';
import { runGathering } from './gathering.ts';
import type { HoldBudget } from './hold-budget.ts';
import type { LanePlace } from './lane.ts';
import type { LaneSet } from './lane-set.ts';
import { type PushOutlet, pushesReply, silences } from './push-outlet.ts';
import type { ReplySlot } from './reply-queue.ts';
import { runExec } from './run-exec.ts';
import type { ExecTarget } from './transaction.ts';
import type { WaitingRequest } from './waiting-requests.ts';

export type ExclusiveRequest = WaitingRequest & {
  readonly target:
    | Extract<Target, { kind: 'node' | 'many' | 'gather' }>
    | ExecTarget
    | BlockingTarget;
};

/** A command of one partition that waits when it finds nothing. */
export interface BlockingTarget {
  readonly kind: 'blocking';
  readonly command: ReadCommand | WriteCommand;
  /** 0: for ever. */
  readonly timeoutMs: number;
  /** It may be kept for hours: in memory of its own, not in a piece that many requests share. */
  readonly line: CommandLine;
  /** What it waits for, and whether it does for a group of consumers. */
  readonly keys: readonly Buffer[];
  readonly isOfGroup: boolean;
  readonly partition: PartitionId;
}

/** Undefined for commands that never wait. */
export function blockingTarget(
  target: Target | ExecTarget,
  args: CommandLine,
): BlockingTarget | undefined {
  if (target.kind !== 'one') return undefined;
  const { command, partition } = target;
  if (command.blocking === undefined) return undefined;
  const form = command.blocking(args);
  if (form === undefined) return undefined;
  const { timeoutMs, keys } = form;
  const isOfGroup = 'group' in form && form.group !== undefined;
  return { kind: 'blocking', command, timeoutMs, line: ownList(args), keys, isOfGroup, partition };
}

export interface ExclusiveGround {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly watch: CommandWatch;
  readonly session: Session;
  readonly lanes: LaneSet;
  /** What gatherings of all connections of the node hold. */
  readonly gatherBudget: HoldBudget;
  /** Messages that the client's own command causes come behind its reply. */
  readonly pushes: Pick<PushOutlet, 'hold' | 'release'>;
  context(): NodeContext;
  place(partition: PartitionId): LanePlace;
  /** Aborts when the connection has ended. */
  gone(): AbortSignal;
  /** On the cluster port: MOVED while another node leads the partition. */
  redirect(partition: PartitionId, line: CommandLine): Reply | undefined;
  block(request: Omit<BlockedRequest, 'id'>): BlockedClient;
  /** The request has its answer. */
  end(slot: ReplySlot, reply: Reply): void;
}

export function runExclusive(ground: ExclusiveGround, request: ExclusiveRequest): void {
  const { target } = request;
  if (target.kind === 'node') runNode(ground, request, target.command);
  else if (target.kind === 'exec') runExec(ground, request, target);
  else if (target.kind === 'gather') runGathering(ground, request, target);
  else if (target.kind === 'blocking') runBlocking(ground, request, target);
  else runParts(ground, request, target.command, target.parts);
}

function runNode(
  ground: ExclusiveGround,
  { args, slot }: WaitingRequest,
  command: NodeCommand,
): void {
  const { clock, watch, session, logger, pushes } = ground;
  const startedMs = clock.monotonicMs();
  const wasOff = session.replyMode === 'off';
  const done = (reply: Reply) => {
    watch.answered(session, command, args, startedMs, reply);
    slot.protocol = session.protocol;
    slot.silent = silences(command, session, slot.silent && !wasOff);
    ground.end(slot, reply);
  };
  const failed = (failure: unknown) => {
    const problem = messageOf(failure);
    logger.error('command failed', { command: command.name, error: problem });
    done(error(`ERR ${command.name} failed inside the server: ${problem}`));
  };
  try {
    pushes.hold();
    const reply = command.run(args, ground.context());
    if (!(reply instanceof Promise)) return done(reply);
    if (!pushesReply(command)) pushes.release();
    reply.then(done, failed);
  } catch (failure) {
    failed(failure);
  }
}

function runParts(
  ground: ExclusiveGround,
  { args, slot }: WaitingRequest,
  command: DataCommand,
  parts: readonly Part[],
): void {
  const { clock, random, watch, session, lanes } = ground;
  const arrivedMs = clock.monotonicMs();
  const answers: PartAnswer[] = [];
  const finish = () => {
    answers.sort((a, b) => a.part.partition - b.part.partition);
    const reply = mergeReplies(command, answers, () => random.float());
    watch.answered(session, command, args, arrivedMs, reply);
    ground.end(slot, reply);
  };
  if (parts.length === 0) return finish();
  for (const part of parts) {
    lanes.push(ground.place(part.partition), {
      slot,
      line: part.line,
      kind: command.kind,
      bytes: lineBytes(part.line),
      arrivedMs,
      settle: (reply, fate) => {
        answers.push({ part, reply, fate });
        if (answers.length === parts.length) finish();
      },
    });
  }
  lanes.start();
}

function runBlocking(
  ground: ExclusiveGround,
  { args, slot }: WaitingRequest,
  { command, timeoutMs, keys, isOfGroup, partition }: BlockingTarget,
): void {
  const { clock, watch, session, logger } = ground;
  const arrivedMs = clock.monotonicMs();
  const finish = (reply: Reply, away = false) => {
    session.blocked = undefined;
    watch.answered(session, command, args, arrivedMs, reply, { away });
    ground.end(slot, reply);
  };
  const moved = ground.redirect(partition, args);
  if (moved !== undefined) return finish(moved, true);
  const place = ground.place(partition);
  const { protocol } = slot;
  const onlyReads = command.kind === 'read';
  const blocked = ground.block({
    ...{ place, line: args, keys, isOfGroup, protocol, onlyReads, timeoutMs },
  });
  session.blocked = { end: (how) => blocked.end(how) };
  blocked.reply.then(
    (reply) => finish(reply),
    (failure) => {
      logger.error('command failed', { command: command.name, error: messageOf(failure) });
      finish(error(`ERR ${command.name} failed inside the server: ${messageOf(failure)}`));
    },
  );
}
