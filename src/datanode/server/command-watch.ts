/** One place that sees every command of this node's clients: before it runs, and how long it took. */
import type { Clock } from '../../common/clock.ts';
import { limits } from '../../common/limits.ts';
import type { Logger } from '../../common/log.ts';
import type { Command } from '../commands/rows/command.ts';
import type { Session } from '../commands/rows/node-context.ts';
import type { NodeWatch, PauseMode } from '../commands/rows/node-watch.ts';
import { resolveCommand } from '../commands/table/table.ts';
import { decodeReply } from '../resp/decode-reply.ts';
import { OK, type Reply } from '../resp/reply.ts';
import { ClientPause } from './client-pause.ts';
import { LatencySpikes } from './latency-spikes.ts';
import { Monitors } from './monitors.ts';
import type { ServerSettings } from './settings.ts';
import { shownArgs } from './shown-args.ts';
import { SlowLog } from './slow-log.ts';
import type { ServerStats } from './stats.ts';

export interface CommandWatchWorld {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly stats: ServerStats;
  settings(): ServerSettings;
}

/** Waiting is what it is for: that it takes long means nothing. */
const patient = new Set(['monitor']);

/** Of a reply that is not looked into: whether that command failed is not told. */
const UNSEEN = OK;
const LOOKED_INTO_BYTES_MAX = 65_536;
/** So many take 2 ms. */
const COUNTED_MAX = 16_384;

/** Replies of the commands that EXEC ran, those of many bytes unseen; undefined: it ran none. */
function itemsOf(replies: Reply): readonly Reply[] | undefined {
  if (replies.kind === 'array') return replies.items;
  if (replies.kind !== 'encoded' || !isArray(replies.bytes)) return undefined;
  if (replies.bytes.length > LOOKED_INTO_BYTES_MAX) return [];
  const decoded = decodeReply(replies.bytes);
  return decoded.kind === 'array' ? decoded.items : undefined;
}

function isArray({ 0: first, 1: second }: Buffer): boolean {
  return first === 0x2a && second !== 0x2d;
}

export class CommandWatch implements NodeWatch {
  readonly slowLog: SlowLog;
  readonly latency: LatencySpikes;
  readonly clientPause: ClientPause;
  readonly #world: CommandWatchWorld;
  readonly #monitors: Monitors;

  constructor(world: CommandWatchWorld) {
    this.#world = world;
    this.slowLog = new SlowLog(() => world.settings().slowLogEntriesMax);
    this.latency = new LatencySpikes(() => world.settings().latencyThresholdMs);
    this.clientPause = new ClientPause(world.clock);
    this.#monitors = new Monitors(world.logger);
  }

  get monitors(): number {
    return this.#monitors.size;
  }

  /** A command is about to run. */
  begins(session: Session, command: Command, args: readonly Buffer[]): void {
    if (this.#monitors.size > 0) {
      this.#monitors.tell(session, command, args, this.#world.clock.wallMs());
    }
  }

  /** A transaction is about to run: what is in it, its beginning at least, then EXEC itself. */
  beginsAll(session: Session, queued: () => readonly (readonly Buffer[])[]): void {
    if (this.#monitors.size === 0) return;
    const lines = queued();
    const most = limits.monitorExecLinesMax;
    for (const line of lines.slice(0, most)) this.begins(session, resolveCommand(line)!, line);
    const more = lines.length - most;
    if (more > 0) this.#monitors.tellOfMore(session, more, this.#world.clock.wallMs());
  }

  /** A command that arrived at `sinceMs` has its answer; see ServerStats.count for `away`. */
  answered(
    session: Session,
    command: Command,
    args: readonly Buffer[],
    sinceMs: number,
    reply: Reply,
    away = false,
  ): void {
    const { clock, stats } = this.#world;
    const microseconds = (clock.monotonicMs() - sinceMs) * 1_000;
    stats.count(command.name, microseconds, reply, away);
    this.#look(session, command, args, microseconds);
  }

  /**
   * What EXEC ran, before EXEC itself is `answered`: each command counts by its reply, with its
   * share of the time. Of a queue so long that counting would hold the others up, EXEC alone counts.
   */
  ran(queue: readonly { readonly name: string }[], sinceMs: number, replies: Reply): void {
    const items = queue.length > COUNTED_MAX ? undefined : itemsOf(replies);
    if (items === undefined) return;
    const { clock, stats } = this.#world;
    const microseconds = ((clock.monotonicMs() - sinceMs) * 1_000) / queue.length;
    queue.forEach(({ name }, at) => {
      stats.count(name, microseconds, items[at] ?? UNSEEN);
    });
  }

  #look(session: Session, command: Command, args: readonly Buffer[], microseconds: number): void {
    const { slowLogMicroseconds, latencyThresholdMs } = this.#world.settings();
    const isSlow = slowLogMicroseconds >= 0 && microseconds >= slowLogMicroseconds;
    const isSpike = latencyThresholdMs > 0 && microseconds >= latencyThresholdMs * 1_000;
    if ((!isSlow && !isSpike) || patient.has(command.name)) return;
    if (command.flags.includes('blocking')) return;
    const atSeconds = Math.floor(this.#world.clock.wallMs() / 1_000);
    const event = command.flags.includes('fast') ? 'fast-command' : 'command';
    if (isSpike) this.latency.note(event, microseconds / 1_000, atSeconds);
    if (!isSlow) return;
    this.slowLog.add({
      atSeconds,
      microseconds: Math.round(microseconds),
      args: shownArgs(command.name, args),
      client: session.remote,
      clientName: session.clientName.slice(0, limits.shownArgumentBytesMax),
    });
  }

  pause(durationMs: number, mode: PauseMode): void {
    this.clientPause.pause(durationMs, mode);
  }

  unpause(): void {
    this.clientPause.unpause();
  }

  startMonitor(session: Session): Reply {
    return this.#monitors.start(session);
  }

  stopMonitor(session: Session): void {
    this.#monitors.stop(session);
  }
}
