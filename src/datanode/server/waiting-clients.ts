/**
 * What the blocked clients of a node share: ids that no request of the cluster ever had, and the
 * confirmations of what they were given, which leave together.
 */
import type { Clock, Timer } from '../../common/clock.ts';
import { limits } from '../../common/limits.ts';
import type { ServerInfo } from '../commands/rows/node-context.ts';
import type { Router } from '../routing/router.ts';
import { BlockedClient, type BlockedRequest, type WithdrawalWaits } from './blocked-client.ts';
import { BlockedKeys } from './blocked-keys.ts';
import { goneReply } from './gone.ts';
import type { LanePlace } from './lane.ts';

const CONFIRM_AFTER_MS = 50;
const CONFIRM_RETRY_MS = 1_000;
const COUNTER_BYTES = 8;

interface Unconfirmed {
  readonly place: LanePlace;
  ids: Buffer[];
  timer: Timer | undefined;
}

export class WaitingClients {
  readonly #clock: Clock;
  readonly #router: Router;
  /** Drawn when the process began. */
  readonly #prefix: Buffer;
  #count = 0n;
  #size = 0;
  #timed = 0;
  /** Those that clients wait for, and of these the ones of which a group of consumers reads. */
  readonly #keys = new BlockedKeys();
  readonly #groupKeys = new BlockedKeys();
  readonly #unconfirmed = new Map<number, Unconfirmed>();

  /** `runId`: hex digits that no other run of a process has. */
  constructor(clock: Clock, router: Router, runId: string) {
    this.#clock = clock;
    this.#router = router;
    this.#prefix = Buffer.from(runId, 'hex');
  }

  /** How many wait: of a client that has gone, until its wait is withdrawn. */
  get size(): number {
    return this.#size;
  }

  get counts(): ServerInfo['waits'] {
    return { timed: this.#timed, keys: this.#keys.size, groupKeys: this.#groupKeys.size };
  }

  block(request: Omit<BlockedRequest, 'id'>, waits: WithdrawalWaits): BlockedClient {
    const blocked = new BlockedClient(
      {
        clock: this.#clock,
        router: this.#router,
        ...waits,
        confirm: (place, id) => this.#confirm(place, id),
      },
      { ...request, id: this.#newId() },
    );
    this.#size++;
    const { place, keys, isOfGroup, timeoutMs } = request;
    const timed = timeoutMs > 0 ? 1 : 0;
    this.#timed += timed;
    const forget = this.#keys.add(place.group, keys);
    const forgetOfGroup = isOfGroup ? this.#groupKeys.add(place.group, keys) : undefined;
    const over = () => {
      this.#size--;
      this.#timed -= timed;
      forget();
      forgetOfGroup?.();
    };
    blocked.reply.then(over, over);
    return blocked;
  }

  close(): void {
    for (const { timer } of this.#unconfirmed.values()) timer?.cancel();
    this.#unconfirmed.clear();
  }

  #newId(): Buffer {
    // it is kept for as long as its client waits
    const id = Buffer.allocUnsafeSlow(this.#prefix.length + COUNTER_BYTES);
    this.#prefix.copy(id);
    id.writeBigUInt64BE(this.#count++, this.#prefix.length);
    return id;
  }

  /** The client's reply has arrived here: the leader need not keep it. */
  #confirm(place: LanePlace, id: Buffer): void {
    const known = this.#unconfirmed.get(place.group);
    const all = known ?? { place, ids: [], timer: undefined };
    if (known === undefined) this.#unconfirmed.set(place.group, all);
    // the partition keeps no more than this either
    if (all.ids.length >= limits.servedRepliesMax) all.ids.shift();
    all.ids.push(id);
    this.#arm(all, CONFIRM_AFTER_MS);
  }

  #arm(all: Unconfirmed, delayMs: number): void {
    all.timer ??= this.#clock.setTimer(delayMs, () => {
      void this.#send(all);
    });
  }

  async #send(all: Unconfirmed): Promise<void> {
    // of a group that is gone nobody keeps anything, and nobody will ever answer for it
    if (goneReply(this.#router.routes, all.place) !== undefined) {
      this.#unconfirmed.delete(all.place.group);
      return;
    }
    const ids = all.ids;
    all.ids = [];
    const told = await this.#router.waits.confirm(all.place, ids);
    all.timer = undefined;
    if (this.#unconfirmed.get(all.place.group) !== all) return;
    if (!told) all.ids = [...ids, ...all.ids];
    if (all.ids.length > 0) this.#arm(all, told ? CONFIRM_AFTER_MS : CONFIRM_RETRY_MS);
    else this.#unconfirmed.delete(all.place.group);
  }
}
