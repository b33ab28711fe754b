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
import type { Queued } from './queued.ts';
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

/** Of an EXEC that arrived at `sinceMs`. */
export interface ExecTimes {
  readonly sinceMs: number;
  /** What commands of the node took, in microseconds, by their lines. */
  readonly known: ReadonlyMap<readonly Buffer[], number>;
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

  /**
   * A command that arrived at `sinceMs` has its answer; see ServerStats.count for `away`. `isLogged`: the slow
   * log has it already, by what it ran.
   */
  answered(
    session: Session,
    command: Command,
    args: readonly Buffer[],
    sinceMs: number,
    reply: Reply,
    { away = false, isLogged = false } = {},
  ): void {
    const { clock, stats } = this.#world;
    const microseconds = (clock.monotonicMs() - sinceMs) * 1_000;
    stats.count(command.name, microseconds, reply, away);
    if (patient.has(command.name) || command.flags.includes('blocking')) return;
    this.#lookForSpike(command, microseconds);
    if (!isLogged) this.#log(session, command.name, args, microseconds);
  }

  /**
   * What EXEC ran, before EXEC itself is `answered`: each command counts by its reply, with what it took where
   * that is known, and else its share of the time. Of a queue so long that counting would hold the others up,
   * EXEC alone counts. Answers whether one of them is in the slow log: where none took long enough, EXEC is.
   */
  ran(session: Session, queue: readonly Queued[], times: ExecTimes, replies: Reply): boolean {
    const items = queue.length > COUNTED_MAX ? undefined : itemsOf(replies);
    if (items === undefined) return false;
    const { clock, stats } = this.#world;
    const known = [...times.known.values()].reduce((sum, took) => sum + took, 0);
    const others = Math.max(1, queue.length - times.known.size);
    const share = ((clock.monotonicMs() - times.sinceMs) * 1_000 - known) / others;
    let isLogged = false;
    queue.forEach((item, at) => {
      const line = item.kind === 'data' ? item.line : item.kind === 'node' ? item.args : undefined;
      const microseconds = (line && times.known.get(line)) ?? Math.max(0, share);
      stats.count(item.name, microseconds, items[at] ?? UNSEEN);
      if (line !== undefined && this.#log(session, item.name, line, microseconds)) isLogged = true;
    });
    return isLogged;
  }

  #lookForSpike(command: Command, microseconds: number): void {
    const { latencyThresholdMs } = this.#world.settings();
    if (latencyThresholdMs <= 0 || microseconds < latencyThresholdMs * 1_000) return;
    const event = command.flags.includes('fast') ? 'fast-command' : 'command';
    const atSeconds = Math.floor(this.#world.clock.wallMs() / 1_000);
    this.latency.note(event, microseconds / 1_000, atSeconds);
  }

  /** Answers whether it took so long. */
  #log(session: Session, name: string, args: readonly Buffer[], microseconds: number): boolean {
    const { slowLogMicroseconds } = this.#world.settings();
    if (slowLogMicroseconds < 0 || microseconds < slowLogMicroseconds) return false;
    this.slowLog.add({
      atSeconds: Math.floor(this.#world.clock.wallMs() / 1_000),
      microseconds: Math.round(microseconds),
      args: shownArgs(name, args),
      client: session.remote,
      clientName: session.clientName.slice(0, limits.shownArgumentBytesMax),
    });
    return true;
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
