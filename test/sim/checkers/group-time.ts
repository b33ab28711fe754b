/**
 * The time of a group never runs back, so no key comes back that has expired: a leader's is not before
 * that of the newest entry it has applied. Nor does it run ahead of what a quorum of clocks allows, so
 * no key expires long before its deadline: one clock that is set forward takes it along by
 * `max-clock-skew-ms` at most.
 */
import type { GroupId } from '../../../src/common/ids.ts';
import type { SimCluster } from '../cluster.ts';
import { type Checker, type Observed, Violation } from './checker.ts';

/** `max-clock-skew-ms` by default. */
const SKEW_MAX_MS = 500;
/** What a leader knows of a clock that it has not heard for long is wrong by the drift since. */
const READING_MS = 300;

export function groupTimeChecker(): Checker {
  const clocks = new Clocks();
  /** How far ahead of the true time it has rightly been; it never gives that back. */
  const allowed = new Map<GroupId, { leadMs: number; atMs: number }>();
  return {
    name: 'group time',
    onMoved({ node, group, replica }: Observed, cluster: SimCluster) {
      clocks.look(cluster);
      const { raft, time } = replica.inspect();
      if (raft.role !== 'leader') return;
      const behindMs = replica.state.timeMs - time.nowMs();
      if (behindMs > 0) {
        const what = `${behindMs} ms before its newest entry`;
        throw new Violation('group time', `${node} leads group ${group} ${what}`);
      }
      if (replica.record.replicas.length === 1) return;
      const { drift } = cluster.plan;
      const { nowMs } = cluster.scheduler;
      const leadMs = time.nowMs() - cluster.clock.wallMs();
      // of a new group it is the clock of its first leader, who may know no other
      const last = allowed.get(group) ?? { leadMs, atMs: nowMs };
      const carriedMs = last.leadMs + (nowMs - last.atMs) * drift;
      const mostMs = Math.max(carriedMs, clocks.secondMs() + SKEW_MAX_MS + READING_MS);
      allowed.set(group, { leadMs: mostMs, atMs: nowMs });
      if (leadMs <= mostMs) return;
      const [told, bound] = [leadMs.toFixed(0), mostMs.toFixed(0)];
      const text = `${node} leads group ${group} ${told} ms ahead of the true time (${bound})`;
      throw new Violation('group time', text);
    },
  };
}

/** How far ahead of the true time each machine's wall clock has been at most. */
class Clocks {
  readonly #mostMs = new Map<string, number>();

  look({ machines, clock }: SimCluster): void {
    for (const { name, life } of machines) {
      if (life === undefined) continue;
      const leadMs = life.clock.wallMs() - clock.wallMs();
      if (leadMs > (this.#mostMs.get(name) ?? Number.NEGATIVE_INFINITY)) {
        this.#mostMs.set(name, leadMs);
      }
    }
  }

  /** Of any quorum of at least two clocks the lower median is no more than this. */
  secondMs(): number {
    let [first, second] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const mostMs of this.#mostMs.values()) {
      if (mostMs > first) [first, second] = [mostMs, first];
      else if (mostMs > second) second = mostMs;
    }
    return second;
  }
}
