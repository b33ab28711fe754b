/** What commands and connections know of client side caching; the room behind it is `datanode/tracking`. */
import type { Session } from '../rows/node-context.ts';

/** What CLIENT TRACKING ON asks for. */
export interface TrackingOptions {
  /** Who is told instead; undefined: the client itself. */
  readonly redirect: Session | undefined;
  readonly broadcast: boolean;
  readonly prefixes: readonly Buffer[];
  readonly optIn: boolean;
  readonly optOut: boolean;
  readonly noLoop: boolean;
}

/** Of a client that tracks. */
export interface ClientTracking {
  readonly broadcast: boolean;
  readonly optIn: boolean;
  readonly optOut: boolean;
  readonly noLoop: boolean;
  /** The id of whom it redirects to; 0: nobody. */
  readonly redirect: number;
  /** Somebody was to be told who has gone. */
  readonly isBroken: boolean;
  /** Of those told by prefix. */
  readonly prefixes: readonly Buffer[];
  /** CLIENT CACHING was given for the next command. */
  caching: boolean;
}

export interface TrackingInfo {
  readonly clients: number;
  readonly keys: number;
  /** Pairs of a key and a client that is told of it. */
  readonly items: number;
  readonly prefixes: number;
}

export interface Tracking {
  /** Resolves once changes are heard of, where that can be; undefined: they are. */
  enable(session: Session, options: TrackingOptions): Promise<void> | undefined;
  disable(session: Session): void;
  info(): TrackingInfo;
}
