/**
 * The connection that the present attempt of a call goes over: one that all calls share, or one that
 * is borrowed for it alone, since it waits there, or changes what state the connection is in.
 */
import type { CallPlan } from './call-plan.ts';
import type { Connection } from './connection.ts';
import { type TargetWorld, targetOf } from './targets.ts';

export class AttemptPath {
  readonly #world: TargetWorld;
  readonly #plan: CallPlan;
  #borrowed: Connection | undefined;
  #isAtFollower = false;

  constructor(world: TargetWorld, plan: CallPlan) {
    this.#world = world;
    this.#plan = plan;
  }

  /** The present attempt goes to a follower-read port. */
  get isAtFollower(): boolean {
    return this.#isAtFollower;
  }

  /** The connection of the next attempt, after `attempts` others; undefined: no node is known. */
  take(attempts: number): Connection | undefined {
    const { pool } = this.#world;
    const { blocking, alone } = this.#plan;
    const target = targetOf(this.#world, this.#plan, attempts);
    if (target === undefined) return undefined;
    const { role, address } = target;
    this.#isAtFollower = role === 'follower';
    if (this.#isAtFollower || !(blocking || alone)) return pool.shared(role, address);
    this.#borrowed = pool.borrow(address);
    return this.#borrowed;
  }

  /** Nothing of the attempt is under way there: others may borrow it. */
  giveBack(): void {
    if (this.#borrowed !== undefined) this.#world.pool.giveBack(this.#borrowed);
    this.#borrowed = undefined;
  }

  /** Closes what was borrowed: what still waits at the server is taken out of its queue by that. */
  drop(): void {
    this.#borrowed?.close();
    this.#borrowed = undefined;
  }
}
