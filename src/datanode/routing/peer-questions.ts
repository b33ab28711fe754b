/**
 * What nodes ask each other of a partition beside sending batches: what became of an entry, and who
 * leads. Both ends of it.
 */
import type { NodeId } from '../../common/ids.ts';
import type { EntryFate } from '../partition/entries/batch.ts';
import {
  decodeFate,
  decodeFateQuestion,
  encodeFate,
  encodeFateQuestion,
  type FateQuestion,
  isFateQuestion,
} from '../partition/entries/fate-codec.ts';
import {
  decodeLeader,
  decodeLeaderQuestion,
  encodeLeader,
  encodeLeaderQuestion,
  isLeaderQuestion,
  type LeaderQuestion,
} from './leader-question.ts';
import type { LeaderHint } from './table.ts';

export interface QuestionGround {
  request(node: NodeId, body: Buffer, timeoutMs: number): Promise<Buffer>;
  /** What this node answers. */
  fateOf(question: FateQuestion): EntryFate;
  leaderFor(question: LeaderQuestion): LeaderHint | undefined;
}

export class PeerQuestions {
  readonly #ground: QuestionGround;

  constructor(ground: QuestionGround) {
    this.#ground = ground;
  }

  /** What `node` knows of an entry. Rejects when it does not answer in time. */
  async fate(node: NodeId, question: FateQuestion, timeoutMs: number): Promise<EntryFate> {
    const body = encodeFateQuestion(question);
    return decodeFate(await this.#ground.request(node, body, timeoutMs));
  }

  /** Who leads as far as `node` knows. Rejects when it does not answer in time. */
  async leader(
    node: NodeId,
    question: LeaderQuestion,
    timeoutMs: number,
  ): Promise<LeaderHint | undefined> {
    const body = encodeLeaderQuestion(question);
    return decodeLeader(await this.#ground.request(node, body, timeoutMs));
  }

  /** To a peer that asks; undefined: `body` is no question. */
  answer(body: Buffer): Buffer | undefined {
    const { fateOf, leaderFor } = this.#ground;
    if (isFateQuestion(body)) return encodeFate(fateOf(decodeFateQuestion(body)));
    if (isLeaderQuestion(body)) return encodeLeader(leaderFor(decodeLeaderQuestion(body)));
    return undefined;
  }
}
