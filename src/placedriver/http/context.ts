/** What the routes of the HTTP API work with. */
import type { Clock } from '../../common/clock.ts';
import type { Logger } from '../../common/log.ts';
import type { Operator } from '../operator/operator.ts';
import type { PlacementSettings } from '../term.ts';
import type { ClusterView } from '../view/cluster-view.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface ApiContext {
  /** This placedriver's. */
  readonly name: string;
  readonly version: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly view: ClusterView;
  /** As the master is configured, if it is configured alike: for what is planned. */
  readonly placement: PlacementSettings;
  /** Writes need it; undefined: they are open to everybody. */
  readonly token: string | undefined;
  /** Whom it believes when it asks another placedriver over TLS, in PEM; undefined: whom Node.js does. */
  authorities?(): string | undefined;
  /** While this placedriver is master. */
  operator(): Operator | undefined;
  /** Why it is master no more, though the store may still name it; undefined: it may be about to be. */
  deposed(): 'banned' | 'ended' | undefined;
  /** For how long the metadata store has been out of reach; undefined while it is not. */
  awayForMs(): number | undefined;
  /** Why it is not registered while another placedriver has its name; undefined: none has. */
  rival(): string | undefined;
  /** Of this process. */
  setLogLevel(level: LogLevel): void;
}
