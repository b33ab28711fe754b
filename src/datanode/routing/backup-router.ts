/**
 * Backups of partitions, wherever their leaders are: begun there, and then asked for at the node that
 * holds the state, whoever leads by then. Both ends of it.
 */
import { type Clock, sleep } from '../../common/clock.ts';
import { codeOf, errorTable, KvorumError } from '../../common/errors.ts';
import type { GroupId, Namespace, NodeId, PartitionId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { Random } from '../../common/random.ts';
import type {
  BackedPartition,
  BackupPage,
  BackupPort,
  BackupState,
} from '../partition/backups/held-backup.ts';
import type { Transport } from '../transport/transport.ts';
import {
  type BackupQuestion,
  decodeBackupPage,
  decodeBackupQuestion,
  decodeOpenedState,
  encodeBackupPage,
  encodeBackupQuestion,
  encodeOpenedState,
  isBackupQuestion,
} from './backup-codec.ts';
import type { Router } from './router.ts';

/** The states that this node itself holds. */
export interface LocalBackups {
  open(
    namespace: Namespace,
    partition: PartitionId,
    group: GroupId,
    withLibraries: boolean,
  ): Promise<BackupState>;
  page(id: string, offset: number): Promise<BackupPage>;
  close(id: string): Promise<void>;
}

export interface BackupGround {
  readonly node: NodeId;
  readonly clock: Clock;
  readonly router: Pick<Router, 'routes' | 'leader' | 'seekLeader'>;
  readonly local: LocalBackups;
  readonly random: Random;
  transport(): Pick<Transport, 'request'>;
}

const RETRY_MS = 50;
/** A page is made in milliseconds, of a busy node in more. */
const ANSWER_MS = 30_000;
const NO_BYTES = Buffer.alloc(0);

export class BackupRouter implements BackupPort {
  readonly #ground: BackupGround;

  constructor(ground: BackupGround) {
    this.#ground = ground;
  }

  partitions(namespace: Namespace): readonly BackedPartition[] {
    return this.#ground.router.routes.partitions(namespace) ?? [];
  }

  /** Waits for a leader as any request does. */
  async open(
    namespace: Namespace,
    partition: PartitionId,
    withLibraries: boolean,
  ): Promise<BackupState> {
    const { clock, router } = this.#ground;
    const untilMs = clock.monotonicMs() + limits.holdMs;
    for (;;) {
      try {
        return await this.#tryOpen(namespace, partition, withLibraries);
      } catch (failure) {
        if (!mayPass(failure) || clock.monotonicMs() >= untilMs) throw failure;
        router.seekLeader({ namespace, partition }, untilMs);
        await sleep(clock, RETRY_MS);
      }
    }
  }

  async page(id: string, offset: number): Promise<BackupPage> {
    const node = nodeOf(id);
    if (node === this.#ground.node) return this.#ground.local.page(id, offset);
    return decodeBackupPage(await this.#ask(node, { kind: 'page', id, offset }));
  }

  async close(id: string): Promise<void> {
    const node = nodeOf(id);
    if (node === this.#ground.node) return this.#ground.local.close(id);
    await this.#ask(node, { kind: 'close', id });
  }

  mark(): string {
    return this.#ground.random.hex(20);
  }

  /** To a peer that asks; undefined: `body` is no such question. */
  answer(body: Buffer): Promise<Buffer> | undefined {
    return isBackupQuestion(body) ? this.#answer(decodeBackupQuestion(body)) : undefined;
  }

  async #answer(question: BackupQuestion): Promise<Buffer> {
    const { local } = this.#ground;
    switch (question.kind) {
      case 'open': {
        const { namespace, partition, group, withLibraries } = question;
        return encodeOpenedState(await local.open(namespace, partition, group, withLibraries));
      }
      case 'page':
        return encodeBackupPage(await local.page(question.id, question.offset));
      case 'close':
        await local.close(question.id);
        return NO_BYTES;
    }
  }

  async #tryOpen(
    namespace: Namespace,
    partition: PartitionId,
    withLibraries: boolean,
  ): Promise<BackupState> {
    const { node, router, local } = this.#ground;
    const group = router.routes.groupOf(namespace, partition);
    if (group === undefined) {
      throw new KvorumError('NOT_FOUND', `there is no partition ${namespace}/${partition}`);
    }
    const leader = router.leader(namespace, partition)?.node;
    if (leader === undefined) throw new KvorumError('NO_LEADER', 'no leader known');
    if (leader === node) return local.open(namespace, partition, group, withLibraries);
    const place = { kind: 'open', namespace, partition, group } as const;
    const answer = await this.#ask(leader, { ...place, withLibraries }).catch((failure) => {
      // an older build does not know what it is asked for: a state without libraries it has
      if (withLibraries && codeOf(failure) === 'BAD_FRAME') {
        return this.#ask(leader, { ...place, withLibraries: false });
      }
      throw failure;
    });
    return { ...decodeOpenedState(answer), partition, group };
  }

  #ask(node: NodeId, question: BackupQuestion): Promise<Buffer> {
    return this.#ground.transport().request(node, encodeBackupQuestion(question), ANSWER_MS);
  }
}

/** Who holds it. */
function nodeOf(id: string): NodeId {
  return id.slice(0, id.lastIndexOf('/'));
}

/** Nothing has begun, and another moment may be better; where many are open it is not soon. */
function mayPass(failure: unknown): boolean {
  const code = codeOf(failure);
  return code !== undefined && code !== 'BUSY' && errorTable[code].outcome === 'not-proposed';
}
