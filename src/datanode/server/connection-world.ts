/** What a client's connection needs of the server it belongs to. */
import type { Clock } from '../../common/clock.ts';
import type { NodeId } from '../../common/ids.ts';
import type { Logger } from '../../common/log.ts';
import type { Random } from '../../common/random.ts';
import type { ToldFailures } from '../../common/tls/told-failures.ts';
import type { Access } from '../acl/access.ts';
import type { NodeContext, Session } from '../commands/rows/node-context.ts';
import type { Router } from '../routing/router.ts';
import type { TrackingHub } from '../tracking/hub.ts';
import type { ClientMemory } from './client-memory.ts';
import type { CommandWatch } from './command-watch.ts';
import type { HoldBudget } from './hold-budget.ts';
import type { ServerSettings } from './settings.ts';
import type { ServerStats } from './stats.ts';
import type { WaitingClients } from './waiting-clients.ts';

/** A client, whatever door it came through. */
export interface ClientConnection {
  readonly session: Session;
  /** How many keys it watches. */
  readonly watched: number;
  /** Answers what is under way, takes nothing more, and closes. */
  finish(): void;
  destroy(): void;
}

export interface ConnectionWorld {
  readonly node: NodeId;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly router: Router;
  readonly budget: HoldBudget;
  readonly gatherBudget: HoldBudget;
  readonly requests: ClientMemory;
  readonly replies: ClientMemory;
  readonly waiting: WaitingClients;
  readonly stats: ServerStats;
  readonly watch: CommandWatch;
  readonly access: Access;
  readonly tracking: TrackingHub;
  /** Who speaks what no client speaks is told of in the log, within bounds. */
  readonly strangers: Pick<ToldFailures, 'tell'>;
  /** A client is the user that its certificate names. */
  readonly certificateUsers: boolean;
  settings(): ServerSettings;
  contextOf(session: Session): NodeContext;
  onClose(connection: ClientConnection): void;
  onSlowSubscriber(): void;
}
