/**
 * MULTI … EXEC and WATCH of one connection (redis.io, Transactions). Between MULTI and EXEC nothing
 * runs: commands are queued, and those of partitions must all belong to one, because a transaction
 * is one entry of one log. Commands of the node itself run at EXEC, in their places.
 */
import type { GroupId, Namespace, PartitionId } from '../../common/ids.ts';
import { selectedNamespace } from '../commands/connection/connection.ts';
import type { Command, NodeCommand, WriteCommand } from '../commands/rows/command.ts';
import type { Queued as ClientQueued } from '../commands/rows/node-context.ts';
import { carrying } from '../commands/sessions/once.ts';
import { ExecWriter, encodeExec } from '../commands/transactions/exec-line.ts';
import type { CommandLine } from '../partition/entries/batch.ts';
import { decodeReply } from '../resp/decode-reply.ts';
import { encodeReply } from '../resp/encode-reply.ts';
import { array, error, NULL_ARRAY, OK, type Protocol, QUEUED, type Reply } from '../resp/reply.ts';
import { crossSlot, type Target } from './dispatch.ts';
import { QueueRoom } from './queue-room.ts';
import {
  apartOf,
  dataOf,
  isJudgedLate,
  linesOf,
  partitionOf,
  type Queued,
  queuedOf,
} from './queued.ts';

/**
 * Commands are encoded as they are queued, since of a thousand that takes long at once; of more
 * bytes at the end, because until then they are held twice.
 */
const ENCODED_EARLY_BYTES_MAX = 1_048_576;

interface Open {
  queue: Queued[];
  /** Those of it that are judged at EXEC alone. */
  late: Queued[];
  readonly room: QueueRoom;
  /** What the client might do at MULTI. */
  readonly rights: object | undefined;
  /** What of it goes to a partition; undefined: it has become too long. */
  encoded: ExecWriter | undefined;
  /** Of all commands with keys; undefined: none yet. */
  partition: PartitionId | undefined;
  /** Of the namespace when that was found. */
  birth: GroupId | undefined;
  /** Something was refused: EXEC runs nothing. */
  broken: boolean;
}

interface Watching {
  readonly token: string;
  readonly namespace: Namespace;
  readonly partition: PartitionId;
  readonly group: GroupId;
  calls: number;
  keys: number;
}

export interface ExecTarget {
  readonly kind: 'exec';
  /** Its own row. */
  readonly command: Command;
  readonly queue: readonly Queued[];
  /** Undefined when nothing of it is for a partition. */
  readonly one:
    | {
        readonly partition: PartitionId;
        readonly line: CommandLine;
        /** Keys are watched: it may be that nothing of the transaction happens. */
        readonly isWatched: boolean;
      }
    | undefined;
}

export interface TransactionWorld {
  namespace(): Namespace;
  /** Another once the namespace was deleted and made anew. */
  birth(): GroupId;
  /** Another, as well, once the partition was rebuilt, perhaps without what the client has read. */
  group(partition: PartitionId): GroupId;
  /** What the client may do: the same object as long as that is so, undefined when nobody knows. */
  rights(): object | undefined;
  /** Why the client may not run this any more, though it might when it was queued. */
  refusedNow(line: CommandLine): Reply | undefined;
  /** Unlike that of any other connection of the cluster. */
  newToken(): string;
  /** On the cluster port: MOVED while another node leads the partition. */
  redirect(partition: PartitionId, line: CommandLine): Reply | undefined;
}

export interface Diverted {
  readonly target: Target | ExecTarget;
  readonly args: CommandLine;
}

export class Transaction {
  readonly #world: TransactionWorld;
  #open: Open | undefined;
  #watching: Watching | undefined;

  constructor(world: TransactionWorld) {
    this.#world = world;
  }

  /** Commands queued since MULTI; -1 outside, as CLIENT LIST shows it. */
  get queued(): number {
    return this.#open?.queue.length ?? -1;
  }

  get counts(): Pick<ClientQueued, 'transaction' | 'watched'> {
    return { transaction: this.queued, watched: this.#watching?.keys ?? 0 };
  }

  get queuedBytes(): number {
    return this.#open?.room.heldBytes ?? 0;
  }

  /** What EXEC would run. */
  get lines(): readonly CommandLine[] {
    return linesOf(this.#open?.queue ?? []);
  }

  /** Where a request goes, given where it would go on its own. */
  divert(target: Target, args: CommandLine): Diverted {
    const answer = (reply: Reply) => ({ target: answerOf(target, reply), args });
    if (target.kind === 'reply' && !target.called) return this.#refused(target, args);
    if (isOnceExec(target, args)) return this.#execOnce(target, args);
    switch (target.command?.name) {
      case 'multi':
        return answer(this.#begin());
      case 'exec':
        return this.#exec(target, args);
      case 'discard':
        return answer(this.#discard());
      case 'watch':
        return this.#watch(target, args);
      case 'unwatch':
        if (this.#open === undefined) this.#watching = undefined;
        break;
      case 'select': {
        const refused = this.#select(args);
        if (refused !== undefined) return answer(refused);
        break;
      }
      case 'reset':
        this.reset();
        return { target, args };
      case 'quit':
        return { target, args };
    }
    return this.#open === undefined
      ? { target, args }
      : answer(this.#queue(this.#open, target, args));
  }

  /**
   * A WATCH that `divert` let pass, as it did, was answered by an error: it watches nothing. Between
   * MULTI and EXEC nothing is taken back: they were sent before the error was seen, and EXEC, whose
   * watch is not known to anybody, answers nil.
   */
  refusedWatch([, token, ...keys]: CommandLine): void {
    const watching = this.#watching;
    if (this.#open !== undefined || watching?.token !== token!.toString()) return;
    watching.calls--;
    watching.keys -= keys.length;
    if (watching.calls === 0) this.#watching = undefined;
  }

  reset(): void {
    this.#open = undefined;
    this.#watching = undefined;
  }

  #refused(target: Extract<Target, { kind: 'reply' }>, args: CommandLine): Diverted {
    const ends = target.command?.name === 'exec' || isOnceExec(target, args);
    if (!ends || target.reply.kind !== 'error') {
      if (this.#open !== undefined) this.#open.broken = true;
      return { target, args };
    }
    this.reset();
    const why = target.reply.text.replace(/^ERR /, '');
    const reply = error(`EXECABORT Transaction discarded because of: ${why}`);
    return { target: { ...target, reply }, args };
  }

  #begin(): Reply {
    if (this.#open !== undefined) return error('ERR MULTI calls can not be nested');
    this.#open = {
      queue: [],
      late: [],
      room: new QueueRoom(),
      rights: this.#world.rights(),
      encoded: new ExecWriter(),
      partition: undefined,
      birth: undefined,
      broken: false,
    };
    return OK;
  }

  #discard(): Reply {
    if (this.#open === undefined) return error('ERR DISCARD without MULTI');
    this.reset();
    return OK;
  }

  /** What is queued or watched belongs to a partition, and with it to a namespace. */
  #select(args: CommandLine): Reply | undefined {
    if (selectedNamespace(args[1]!) === this.#world.namespace()) return undefined;
    if (this.#open !== undefined) this.#open.broken = true;
    return (this.#open ?? this.#watching) ? OTHER_NAMESPACE : undefined;
  }

  #watch(target: Target, args: CommandLine): Diverted {
    if (this.#open !== undefined) {
      const inside = error('ERR WATCH inside MULTI is not allowed');
      return { target: answerOf(target, inside), args };
    }
    if (target.kind !== 'one') return { target, args };
    const namespace = this.#world.namespace();
    const { partition } = target;
    const watching: Watching = this.#watching ?? {
      token: this.#world.newToken(),
      namespace,
      partition,
      group: this.#world.group(partition),
      calls: 0,
      keys: 0,
    };
    if (watching.partition !== partition || watching.namespace !== namespace) {
      return { target: answerOf(target, crossSlot), args };
    }
    const line = [args[0]!, Buffer.from(watching.token), ...args.slice(1)];
    const moved = this.#world.redirect(partition, line);
    if (moved !== undefined) return { target: answerOf(target, moved), args };
    this.#watching = watching;
    watching.calls++;
    watching.keys += args.length - 1;
    return { target, args: line };
  }

  #queue(open: Open, target: Target, args: CommandLine): Reply {
    const item = queuedOf(target, args);
    const refusal = item === undefined ? apartOf(target) : this.#refusalOf(open, target, item);
    if (refusal !== undefined) {
      open.broken = true;
      return refusal;
    }
    // nothing of it will run
    if (open.broken) return QUEUED;
    const full = open.room.take(args);
    if (full !== undefined) {
      Object.assign(open, { queue: [], late: [], encoded: undefined, broken: true });
      return full;
    }
    open.queue.push(item!);
    if (isJudgedLate(target, args)) open.late.push(item!);
    if (item!.kind === 'data') open.encoded?.add(item!.line);
    if ((open.encoded?.bytes ?? 0) > ENCODED_EARLY_BYTES_MAX) open.encoded = undefined;
    return QUEUED;
  }

  /** Why the command cannot join the others, or undefined. */
  #refusalOf(open: Open, target: Target, item: Queued): Reply | undefined {
    if (target.command?.flags.includes('no_multi')) return NOT_ALLOWED;
    const partition = partitionOf(target);
    if (item.kind !== 'data' || partition === undefined) return undefined;
    const bound = open.partition ?? this.#watching?.partition ?? partition;
    if (bound !== partition) return crossSlot;
    open.partition = partition;
    open.birth ??= this.#world.birth();
    return this.#world.redirect(partition, item.line);
  }

  #exec(target: Target, args: CommandLine): Diverted {
    const open = this.#open;
    const watching = this.#watching;
    if (open === undefined) {
      return { target: answerOf(target, error('ERR EXEC without MULTI')), args };
    }
    this.reset();
    if (open.broken) return { target: answerOf(target, ABORTED), args };
    if (open.birth !== undefined && open.birth !== this.#world.birth()) {
      return { target: answerOf(target, GONE), args };
    }
    // another user has logged in, whose namespace is another: what was watched is out of sight
    if (watching !== undefined && !this.#isInSight(watching)) {
      return { target: answerOf(target, NULL_ARRAY), args };
    }
    const queue = this.#allowed(open);
    const command = target.command!;
    const partition = open.partition ?? watching?.partition;
    if (partition === undefined) {
      return { target: { kind: 'exec', command, queue, one: undefined }, args };
    }
    const encoded = queue === open.queue ? open.encoded : undefined;
    const line = encoded?.finish(watching) ?? encodeExec(dataOf(queue), watching);
    const one = { partition, line, isWatched: watching !== undefined };
    return { target: { kind: 'exec', command, queue, one }, args };
  }

  #isInSight({ namespace, partition, group }: Watching): boolean {
    return namespace === this.#world.namespace() && group === this.#world.group(partition);
  }

  /** EXEC under a session: the line of the log carries it as it was sent. */
  #execOnce(target: Target, args: CommandLine): Diverted {
    const row = target.command as WriteCommand;
    const checked = row.prepare(carrying(args, encodeExec([])));
    const { target: found } = this.#exec(target, args);
    if (found.kind !== 'exec' || found.one === undefined) return { target: found, args };
    if (!checked.ok) return { target: answerOf(target, checked.reply), args };
    const one = { ...found.one, line: carrying(args, found.one.line) };
    return { target: { ...found, one }, args };
  }

  /**
   * The queue itself, unless the rules have changed since: what is not allowed any more answers so,
   * the others run. All were judged as they were queued: a hundred thousand take their time.
   */
  #allowed({ queue, late, rights }: Open): readonly Queued[] {
    const isSame = rights !== undefined && rights === this.#world.rights();
    const refusals = new Map<Queued, Reply>();
    for (const item of isSame ? late : queue) {
      if (item.kind === 'known') continue;
      const refused = this.#world.refusedNow(item.kind === 'data' ? item.line : item.args);
      if (refused !== undefined) refusals.set(item, refused);
    }
    if (refusals.size === 0) return queue;
    return queue.map((item) => {
      const reply = refusals.get(item);
      return reply === undefined ? item : { kind: 'known', name: item.name, reply };
    });
  }
}

const OTHER_NAMESPACE = error(
  'ERR SELECT of another namespace has no place in a transaction or after WATCH: namespaces have ' +
    'partitions of their own, and nothing is atomic over partitions',
);
const NOT_ALLOWED = error('ERR Command not allowed inside a transaction');
const GONE = error('EXECABORT Transaction discarded because its namespace was deleted meanwhile.');
const ABORTED = error('EXECABORT Transaction discarded because of previous errors.');

/**
 * EXEC's answer: `data` is what the partition said to the commands that were for it (whatever is
 * not an array, as nil when a watch was broken, is the answer itself), the others run now. Behind a
 * HELLO among them each is in the protocol of its moment, as far as its kind is known still: what
 * another node answered is in that of EXEC, where maps may be arrays.
 */
export async function completeExec(
  queue: readonly Queued[],
  data: Reply,
  run: (command: NodeCommand, args: CommandLine) => Reply | Promise<Reply>,
  protocol: () => Protocol,
): Promise<Reply> {
  if (queue.every(({ kind }) => kind === 'data')) return data;
  const answered = data.kind === 'encoded' ? decodeReply(data.bytes) : data;
  if (answered.kind !== 'array') return data;
  const rest = [...answered.items];
  const replies: Reply[] = [];
  const before = protocol();
  for (const item of queue) {
    let reply: Reply;
    if (item.kind === 'data') reply = rest.shift()!;
    else if (item.kind === 'known') reply = item.reply;
    else reply = await run(item.command, item.args);
    const now = protocol();
    replies.push(now === before ? reply : { kind: 'encoded', bytes: encodeReply(reply, now) });
  }
  return array(replies);
}

function isOnceExec({ command }: Target, args: CommandLine): boolean {
  return command?.carries?.(args)?.command.name === 'exec';
}

function answerOf({ command }: Target, reply: Reply): Target {
  return { kind: 'reply', reply, command, called: true };
}

/** Without what `divert` added. */
export function asSent({ name }: Command, line: CommandLine): CommandLine {
  return name === 'watch' ? [line[0]!, ...line.slice(2)] : line;
}
