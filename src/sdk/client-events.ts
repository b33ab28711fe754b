/** What a client tells its listeners, and where it is in its life. */

import type { ClientChange } from './changes.ts';

/** `wait` (lazy, nothing done yet) → `connecting` → `ready` ⇄ `reconnecting` → `end`. */
export type ClientStatus = 'wait' | 'connecting' | 'ready' | 'reconnecting' | 'end';

/** Events and what their listeners are given. */
export interface ClientEvents {
  /** The first connection to a datanode stands, or the first after all were lost. */
  connect: [];
  /** The partitions are known: commands go to their nodes. */
  ready: [];
  /** Something failed that no call is rejected with; nothing is thrown when nobody listens. */
  error: [error: Error];
  /** The last connection was lost. */
  close: [];
  /** Follows `close` unless the client is closed. */
  reconnecting: [];
  /** The client is closed for good. */
  end: [];
  /** A datanode appeared in the table, or at another address. */
  '+node': [node: NodeInfo];
  /** A datanode left the table; connections to it are closed. */
  '-node': [node: NodeInfo];
  /** Anything of the above, connections and leaders: what `client.changes()` walks over. */
  change: [change: ClientChange];
}

/** A datanode as events and `nodes()` tell it. */
export interface NodeInfo {
  readonly name: string;
  readonly host: string;
  readonly port: number;
}
