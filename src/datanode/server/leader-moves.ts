/**
 * Tells clients that have asked for maintenance notifications which slots have another leader: an
 * `SMIGRATED` push with a number of its own and [from, to, slots] of each move. They follow without
 * a MOVED, also when the old leader is gone and can send none. The nodes it moved between tell it,
 * each to the clients of its cluster port; the changes of one turn leave in one push.
 */
import type { Clock } from '../../common/clock.ts';
import type { GroupId, Namespace, NodeId } from '../../common/ids.ts';
import type { Random } from '../../common/random.ts';
import { clientAddress } from '../../meta/schema.ts';
import type { Session } from '../commands/rows/node-context.ts';
import { pushDelivery } from '../pubsub/delivery.ts';
import { array, bulk, integer, type Reply } from '../resp/reply.ts';
import type { RouteTable } from '../routing/table.ts';

export interface LeaderMovesWorld {
  readonly node: NodeId;
  readonly clock: Clock;
  readonly random: Random;
  readonly routes: RouteTable;
  sessions(): readonly Session[];
}

interface Move {
  readonly from: NodeId;
  readonly to: NodeId;
}

/** Clients drop a number that any node has told them: each node begins at another. */
const NUMBERS_PER_NODE = 2 ** 20;

export class LeaderMoves {
  readonly #world: LeaderMovesWorld;
  #number: number;
  #moves = new Map<GroupId, Move>();

  constructor(world: LeaderMovesWorld) {
    this.#world = world;
    this.#number = world.random.u32() * NUMBERS_PER_NODE;
    world.routes.onMoved((group, from, to) => this.#onMoved(group, from, to));
  }

  #onMoved(group: GroupId, from: NodeId, to: NodeId): void {
    if (this.#moves.size === 0) this.#world.clock.endOfTurn(() => this.#tell());
    this.#moves.set(group, { from: this.#moves.get(group)?.from ?? from, to });
  }

  #tell(): void {
    const moves = this.#moves;
    this.#moves = new Map();
    const asked = this.#world
      .sessions()
      .filter(({ door, notified, protocol }) => notified && protocol === 3 && door === 'cluster');
    if (asked.length === 0) return;
    const number = ++this.#number;
    for (const namespace of new Set(asked.map((session) => session.namespace))) {
      const triples = this.#triples(namespace, moves);
      if (triples.length === 0) continue;
      const push = pushDelivery([bulk('SMIGRATED'), integer(number), array(triples)]);
      for (const session of asked) {
        if (session.namespace === namespace) session.subscriber.deliver(push);
      }
    }
  }

  #triples(namespace: Namespace, moves: ReadonlyMap<GroupId, Move>): Reply[] {
    const { node, routes } = this.#world;
    const slots = new Map<string, { readonly move: Move; readonly ranges: string[] }>();
    if (!routes.hasSlots(namespace)) return [];
    for (const { group, firstSlot, lastSlot } of routes.partitions(namespace) ?? []) {
      const move = moves.get(group);
      if (move === undefined || move.from === move.to) continue;
      if (move.from !== node && move.to !== node) continue;
      const key = `${move.from} ${move.to}`;
      const known = slots.get(key) ?? { move, ranges: [] };
      known.ranges.push(firstSlot === lastSlot ? `${firstSlot}` : `${firstSlot}-${lastSlot}`);
      slots.set(key, known);
    }
    return [...slots.values()].flatMap(({ move, ranges }) => {
      const [from, to] = [this.#address(move.from), this.#address(move.to)];
      if (from === undefined || to === undefined) return [];
      return [array([bulk(from), bulk(to), bulk(ranges.join(','))])];
    });
  }

  #address(node: NodeId): string | undefined {
    const known = this.#world.routes.knownNodes().get(node);
    if (known === undefined) return undefined;
    const { host, clusterPort } = clientAddress(known.record);
    return `${host}:${clusterPort}`;
  }
}
