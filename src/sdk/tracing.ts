/**
 * What a client tells `node:diagnostics_channel`: tracing channels `kvorum:command`,
 * `kvorum:connect` (a connection stands or was lost: plain channel) and `kvorum:lookup` (a new table,
 * or why there is none: plain channel). Arguments are never told: they may be secrets.
 */
import { channel, tracingChannel } from 'node:diagnostics_channel';

/** Context of `kvorum:command`. */
export interface CommandTrace {
  /** Lower case. */
  readonly command: string;
  /** How many arguments follow the name. */
  readonly arguments: number;
  readonly namespace: string | undefined;
  /** Undefined: several, or none. */
  readonly partition?: number | undefined;
  /** Times it was sent, once it has ended. */
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
const connects = channel('kvorum:connect');
const lookups = channel('kvorum:lookup');

/** Runs `run` as `kvorum:command`; costs nothing while nobody has subscribed. */
export function traceCommand<T>(
  context: () => CommandTrace,
  run: (context: CommandTrace | undefined) => Promise<T>,
): Promise<T> {
  if (!anySubscriber()) return run(undefined);
  const told = context();
  return commands.tracePromise(() => run(told), told);
}

function anySubscriber(): boolean {
  const { start, end, asyncStart, asyncEnd, error } = commands;
  return [start, end, asyncStart, asyncEnd, error].some((one) => one.hasSubscribers);
}

export function tellConnect(trace: ConnectTrace): void {
  if (connects.hasSubscribers) connects.publish(trace);
}

export function tellLookup(trace: LookupTrace): void {
  if (lookups.hasSubscribers) lookups.publish(trace);
}
