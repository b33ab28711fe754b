/**
 * What a client tells `node:diagnostics_channel`: tracing channels `kvorum:command` and
 * `kvorum:batch` (a pipeline, a transaction), `kvorum:connect` (a connection stands or was lost:
 * plain channel) and `kvorum:lookup` (a new table, or why there is none: plain channel). Arguments
 * are never told: they may be secrets.
 */
import { channel, type TracingChannel, tracingChannel } from 'node:diagnostics_channel';
import type { Clock } from '../common/clock.ts';

/** Context of `kvorum:command`. */
export interface CommandTrace {
  /** Lower case. */
  readonly command: string;
  /** How many arguments follow the name. */
  readonly arguments: number;
  readonly namespace: string | undefined;
  /** Of all its keys, once it was routed; undefined: several, or none. */
  partition?: number | undefined;
  /** Times it was sent, once it has ended. */
  attempts?: number;
}

/** Context of `kvorum:batch`; `error` is added to it when the whole has failed. */
export interface BatchTrace {
  /** `watch`: a transaction of `client.watch()`, all its attempts and the reads in it. */
  readonly kind: 'pipeline' | 'transaction' | 'watch';
  readonly namespace: string | undefined;
  /** How many commands it has; of a watch once it has ended: those of its transaction. */
  commands: number;
  /** The one partition of all its keys, once it has ended; undefined: several, or none. */
  partition?: number | undefined;
  /** From the call to the last reply, in milliseconds, once it has ended. */
  durationMs?: number;
  /** Commands of a pipeline that were rejected, once it has ended. */
  failed?: number;
  /** Times a transaction was sent, or a watch begun, once it has ended. */
  attempts?: number;
}

/** Message of `kvorum:connect`. */
export interface ConnectTrace {
  readonly host: string;
  readonly port: number;
  readonly state: 'connected' | 'lost';
  readonly error?: Error | undefined;
}

/** Message of `kvorum:lookup`. */
export interface LookupTrace {
  readonly epoch?: number;
  readonly partitions?: number;
  readonly error?: Error;
}

const commands = tracingChannel<unknown, CommandTrace>('kvorum:command');
const batches = tracingChannel<unknown, BatchTrace>('kvorum:batch');
const connects = channel('kvorum:connect');
const lookups = channel('kvorum:lookup');

/** Runs `run` as `kvorum:command`; costs nothing while nobody has subscribed. */
export function traceCommand<T>(
  context: () => CommandTrace,
  run: (context: CommandTrace | undefined) => Promise<T>,
): Promise<T> {
  return trace(commands, context, run);
}

/** Runs `run` as `kvorum:batch`. */
export function traceBatch<T>(
  clock: Clock,
  context: () => BatchTrace,
  run: (context: BatchTrace | undefined) => Promise<T>,
): Promise<T> {
  return trace(batches, context, async (told) => {
    const beganMs = clock.monotonicMs();
    try {
      return await run(told);
    } finally {
      if (told !== undefined) told.durationMs = clock.monotonicMs() - beganMs;
    }
  });
}

function trace<T, Context extends object>(
  told: TracingChannel<unknown, Context>,
  context: () => Context,
  run: (context: Context | undefined) => Promise<T>,
): Promise<T> {
  const { start, end, asyncStart, asyncEnd, error } = told;
  const heard = [start, end, asyncStart, asyncEnd, error].some((one) => one.hasSubscribers);
  if (!heard) return run(undefined);
  const about = context();
  return told.tracePromise(() => run(about), about);
}

export function tellConnect(trace: ConnectTrace): void {
  if (connects.hasSubscribers) connects.publish(trace);
}

export function tellLookup(trace: LookupTrace): void {
  if (lookups.hasSubscribers) lookups.publish(trace);
}
