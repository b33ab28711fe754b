/**
 * Asks the leader of a partition which keys change, in this process or over the transport. One attempt;
 * asking again is the caller's business, who knows what was told.
 */
import { codeOf, messageOf } from '../../common/errors.ts';
import type { NodeId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { LocalPartition } from '../partition/entries/batch.ts';
import type { ChangesAnswer, ChangesRequest } from '../partition/entries/changes.ts';
import type { Asker } from '../transport/transport.ts';
import {
  type ChangesPlace,
  type ChangesQuestion,
  decodeChangesAnswer,
  decodeChangesQuestion,
  encodeChangesAnswer,
  encodeChangesQuestion,
} from './changes-codec.ts';
import { mayLeadElsewhere } from './leader-search.ts';
import type { Router, RouterOptions } from './router.ts';

/** Beyond the time for which the leader may hold a question. */
const ANSWER_GRACE_MS = 2_000;
const NO_REPLICA = {
  kind: 'failed',
  code: 'NO_PARTITION',
  message: 'this node has no replica of the partition',
} as const;

export class ChangesRouter {
  readonly #router: Router;
  readonly #options: RouterOptions;

  constructor(router: Router, options: RouterOptions) {
    this.#router = router;
    this.#options = options;
  }

  /** Of this node's replica if `request.ofReplica`, else of the leader. */
  async ask(
    place: ChangesPlace,
    request: ChangesRequest,
    gone: AbortSignal,
  ): Promise<ChangesAnswer> {
    if (request.ofReplica) {
      // one that takes part in nothing yet hears of nothing: the leader answers its clients' reads
      if (this.#options.holds(place.group)) return NO_REPLICA;
      return this.#local(place)?.changes(request, gone) ?? NO_REPLICA;
    }
    const { namespace, partition } = place;
    const leader = this.#router.leader(namespace, partition);
    if (leader === undefined) {
      this.#router.seekLeader(place);
      return { kind: 'failed', code: 'NO_LEADER', message: 'no leader known' };
    }
    if (leader.node === this.#options.node) {
      return this.#local(place)?.changes(request, gone) ?? NO_REPLICA;
    }
    const answer = await this.#askPeer(leader.node, { ...place, ...request }, gone);
    const isLost = answer.kind === 'failed' && !gone.aborted && mayLeadElsewhere(answer.code);
    if (isLost) {
      this.#options.routes.withdrawLeader(place.group, leader);
      this.#router.seekLeader(place);
    }
    return answer;
  }

  async #askPeer(
    node: NodeId,
    question: ChangesQuestion,
    gone: AbortSignal,
  ): Promise<ChangesAnswer> {
    try {
      const body = encodeChangesQuestion(question);
      const timeoutMs = limits.changesHoldMs + ANSWER_GRACE_MS;
      return decodeChangesAnswer(
        await this.#options.transport().request(node, body, timeoutMs, gone, true),
      );
    } catch (failure) {
      const code = codeOf(failure) ?? 'NO_LEADER';
      return { kind: 'failed', code, message: messageOf(failure) };
    }
  }

  /** The other end: of a peer, for a replica of this node. */
  async serve(body: Buffer, asker: Asker): Promise<Buffer> {
    // nothing waits here: what is asked for keeps no view of `body`
    const { namespace, partition, group, proves, after } = decodeChangesQuestion(body);
    const local = this.#local({ namespace, partition, group });
    if (local === undefined) return encodeChangesAnswer(NO_REPLICA);
    // others of its node are not to wait behind a question that may be held
    asker.park();
    const request = { proves, after, ofReplica: false };
    return encodeChangesAnswer(await local.changes(request, asker.signal));
  }

  #local(place: ChangesPlace): LocalPartition | undefined {
    if (!this.#router.isOfTable(place)) return undefined;
    return this.#options.local(place.namespace, place.partition);
  }
}
