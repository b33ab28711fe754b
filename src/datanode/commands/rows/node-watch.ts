/** What an operator may ask a node to notice: slow commands, spikes of latency, every command, a pause. */
import type { Reply } from '../../resp/reply.ts';
import type { Session } from './node-context.ts';

/** One command that took long. */
export interface SlowEntry {
  /** Counts from 0 since the process started; RESET does not begin anew. */
  readonly id: number;
  /** Seconds since 1970. */
  readonly atSeconds: number;
  readonly microseconds: number;
  /** As they may be shown: few, short, and without secrets. */
  readonly args: readonly Buffer[];
  readonly client: string;
  readonly clientName: string;
}

export interface SlowLogView {
  readonly length: number;
  /** Newest first; −1: all. */
  newest(count: number): readonly SlowEntry[];
  reset(): void;
}

export interface LatencySample {
  readonly atSeconds: number;
  /** The worst of that second. */
  readonly milliseconds: number;
}

export interface LatencyEvent {
  readonly name: string;
  /** Oldest first, never empty. */
  readonly samples: readonly LatencySample[];
  /** Since the event was last reset. */
  readonly worstMilliseconds: number;
}

export interface LatencyView {
  /** Commands that take this long or longer are noted; 0: none are. */
  readonly thresholdMs: number;
  events(): readonly LatencyEvent[];
  /** All when `names` is empty; how many events were forgotten. */
  reset(names: readonly string[]): number;
}

export type PauseMode = 'write' | 'all';

export interface NodeWatch {
  readonly slowLog: SlowLogView;
  readonly latency: LatencyView;
  /** Holds back commands of clients; a second pause only makes it longer and stricter. */
  pause(durationMs: number, mode: PauseMode): void;
  unpause(): void;
  /** Sends the session every command of every client from now on; the reply says OK, or why not. */
  startMonitor(session: Session): Reply;
  stopMonitor(session: Session): void;
  readonly monitors: number;
}
