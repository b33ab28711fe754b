/**
 * Brings a client that waits to the leader of its partition, in this process or over the transport,
 * in the leader's term. One attempt, as `Router.execute`; asking again is the caller's business.
 */
import { codeOf, messageOf } from '../../common/errors.ts';
import { limits } from '../../common/limits.ts';
import type { LocalPartition } from '../partition/entries/batch.ts';
import { refusedWait } from '../partition/entries/newer-commands.ts';
import { NOT_LED_HERE, type WaitOutcome, type WaitRequest } from '../partition/entries/wait.ts';
import type { Asker } from '../transport/transport.ts';
import type { Router, RouterOptions } from './router.ts';
import type { LeaderHint } from './table.ts';
import {
  decodeWaitAnswer,
  decodeWaitMessage,
  encodeWaitAnswer,
  encodeWaitMessage,
  type WaitMessage,
  type WaitPlace,
} from './wait-codec.ts';

const CONFIRM_MS = 5_000;

export class WaitRouter {
  readonly #options: RouterOptions;
  readonly #router: Router;

  constructor(router: Router, options: RouterOptions) {
    this.#router = router;
    this.#options = options;
  }

  /** Settles when the leader does, when it is lost, or at once when `gone` aborts. */
  async ask(
    place: WaitPlace,
    leader: LeaderHint,
    request: WaitRequest,
    gone: AbortSignal,
  ): Promise<WaitOutcome> {
    const local = this.#local(place);
    if (leader.node === this.#options.node) return local?.wait(request, gone) ?? NOT_LED_HERE;
    try {
      const body = encodeWaitMessage({ ...place, term: leader.term, kind: 'ask', request });
      const answer = await this.#send(leader, body, limits.timerMsMax, gone);
      const outcome = decodeWaitAnswer(answer) ?? NOT_LED_HERE;
      if (outcome.kind === 'failed' && outcome.code !== 'BUSY') this.#withdraw(place, leader);
      return outcome;
    } catch (failure) {
      const code = codeOf(failure) ?? 'OUTCOME_UNKNOWN';
      // who has no room for it leads all the same
      if (!gone.aborted && code !== 'BUSY') this.#withdraw(place, leader);
      return { kind: 'failed', code, message: messageOf(failure) };
    }
  }

  /** Resolves to false when nobody took it. */
  async confirm(place: WaitPlace, ids: readonly Buffer[]): Promise<boolean> {
    const leader = this.#router.leader(place.namespace, place.partition);
    if (leader === undefined) return false;
    if (leader.node === this.#options.node) return confirmAt(this.#local(place), ids);
    try {
      const body = encodeWaitMessage({ ...place, term: leader.term, kind: 'confirm', ids });
      return decodeWaitAnswer(await this.#send(leader, body, CONFIRM_MS)) === undefined;
    } catch {
      return false;
    }
  }

  /** The other end: of a peer's client, for a replica of this node. */
  async serve(body: Buffer, asker: Asker): Promise<Buffer> {
    // nothing waits here: a function that does keeps `body`
    return this.#answer(decodeWaitMessage(body), asker);
  }

  async #answer(message: WaitMessage, asker: Asker): Promise<Buffer> {
    const protocol = message.kind === 'ask' ? message.request.protocol : 2;
    return encodeWaitAnswer(await this.#serve(message, asker), protocol);
  }

  #serve(message: WaitMessage, asker: Asker): Promise<WaitOutcome> | WaitOutcome | undefined {
    const local = this.#router.isOfTable(message) ? this.#local(message) : undefined;
    if (!local?.isLeader || local.term !== message.term) return NOT_LED_HERE;
    if (message.kind === 'ask') {
      const refused = refusedWait(message.request);
      if (refused !== undefined) return refused;
      // others of its node are not to wait behind clients that may do so for ever
      asker.park();
      return local.wait(message.request, asker.signal);
    }
    local.confirmServed(message.ids);
    return undefined;
  }

  #local({ namespace, partition }: WaitPlace): LocalPartition | undefined {
    return this.#options.local(namespace, partition);
  }

  #send(
    { node }: LeaderHint,
    body: Buffer,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<Buffer> {
    return this.#options.transport().request(node, body, timeoutMs, signal, signal !== undefined);
  }

  #withdraw({ namespace, partition }: WaitPlace, leader: LeaderHint): void {
    const { routes } = this.#options;
    const record = routes.partitions(namespace)?.[partition];
    if (record === undefined) return;
    routes.withdrawLeader(record.group, leader);
    this.#router.seekLeader({ namespace, partition });
  }
}

function confirmAt(local: LocalPartition | undefined, ids: readonly Buffer[]): boolean {
  if (!local?.isLeader) return false;
  local.confirmServed(ids);
  return true;
}
