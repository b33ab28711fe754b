/**
 * What a node makes of the news that its replicas have of their leaders: requests go there at once, and
 * the metadata store hears of those that this node leads.
 */
import type { NodeId } from '../common/ids.ts';
import type { DatanodeCoordinator } from './coordinator/coordinator.ts';
import type { LeaderNews } from './partition/host/host-options.ts';
import type { PartitionMeters } from './partition/host/meters.ts';
import { leaderRecord } from './reports.ts';
import type { MutableRouteTable } from './routing/route-table.ts';

export class LeaderReports {
  readonly #routes: MutableRouteTable;
  readonly #meters: Pick<PartitionMeters, 'electionsWon' | 'leaderLosses'>;
  readonly #coordinator: Pick<DatanodeCoordinator, 'reportLeader' | 'resign'>;

  constructor(
    routes: MutableRouteTable,
    meters: Pick<PartitionMeters, 'electionsWon' | 'leaderLosses'>,
    coordinator: Pick<DatanodeCoordinator, 'reportLeader' | 'resign'>,
  ) {
    this.#routes = routes;
    this.#meters = meters;
    this.#coordinator = coordinator;
  }

  /** News of a group that has another in its place by now are nobody's. */
  hear(news: LeaderNews): void {
    const { namespace, partition, group } = news.record;
    if (this.#routes.groupOf(namespace, partition) !== group) return;
    if (news.node === undefined) this.#lost(news);
    else this.#found(news, news.node);
  }

  #lost({ record, replica, term }: LeaderNews): void {
    const { namespace, partition, group } = record;
    // with a replica there is a leader, on a node that is not known yet
    if (replica === 0) this.#coordinator.resign(record, term);
    const hint = this.#routes.leader(namespace, partition);
    if (hint === undefined) return;
    this.#meters.leaderLosses++;
    this.#routes.withdrawLeader(group, hint);
  }

  #found(news: LeaderNews, node: NodeId): void {
    const { record, term, own } = news;
    const known = this.#routes.leader(record.namespace, record.partition);
    this.#routes.setLeader(record.group, node, term);
    if (!own) return;
    if (known?.term !== term) this.#meters.electionsWon++;
    this.#coordinator.reportLeader(leaderRecord(node, news));
  }
}
