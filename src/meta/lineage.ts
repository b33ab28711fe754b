/**
 * Whether the store that answers is still the one this client has known. A store that was wiped,
 * restored from a backup, or swapped for another shows in its etcd cluster id, in a revision that
 * went back, or in the record of the kvorum cluster that it holds. Pure.
 */
import type { Revision } from '../common/ids.ts';
import { decodeRecord, recordKinds } from './records.ts';
import { keys } from './schema.ts';
import type { MetaItem } from './store.ts';

/** What every answer of etcd begins with. */
export interface AnswerHeader {
  readonly cluster_id: string;
  readonly revision: string;
}

export class Lineage {
  #etcdId: string | undefined;
  #revision: Revision = 0;
  #clusterId: string | undefined;
  /** The store of `etcdId` has shown that it holds the cluster. */
  #confirmed = false;

  /** The etcd cluster id of the store; undefined before its first answer. */
  get etcdId(): string | undefined {
    return this.#etcdId;
  }

  /** The highest revision seen: a question asked from now on is answered at no lower one. */
  get revision(): Revision {
    return this.#revision;
  }

  /** From now on only a store that holds this kvorum cluster is the right one. */
  bind(clusterId: string): void {
    this.#clusterId = clusterId;
  }

  /**
   * Judges an answer and learns from it when it is right; says why it is of another store. `floor`:
   * `revision` when the question was asked; 0 for a stream, which a member that lags may answer.
   */
  judge(header: AnswerHeader, floor: Revision): string | undefined {
    const revision = Number(header.revision);
    if (this.#etcdId !== undefined && header.cluster_id !== this.#etcdId) {
      return `its cluster id was ${this.#etcdId} and is ${header.cluster_id}`;
    }
    if (revision < floor) return `its revision was ${floor} and went back to ${revision}`;
    this.#etcdId = header.cluster_id;
    this.#revision = Math.max(this.#revision, revision);
    return undefined;
  }

  /**
   * Judges the record of the cluster (absent in a new store), and is bound by the first one. A store that
   * never was the right one is forgotten: this client began beside it, and is to know the right one yet.
   */
  judgeCluster(item: MetaItem | undefined): string | undefined {
    const found = item && decodeRecord(recordKinds.cluster, item.key, item.value).clusterId;
    if (this.#clusterId === undefined) this.#clusterId = found;
    if (found === this.#clusterId) {
      this.#confirmed ||= found !== undefined;
      return undefined;
    }
    if (!this.#confirmed) [this.#etcdId, this.#revision] = [undefined, 0];
    return found === undefined
      ? `it holds no ${keys.cluster}, and cluster ${this.#clusterId} was made long ago`
      : `it holds cluster ${found}, not ${this.#clusterId}`;
  }
}

/** The whole text: what is wrong with the store at `where`, what that means, what to do. */
export function replacedText(where: string, why: string): string {
  return (
    `metadata store at ${where} is not the one this process has known: ${why}; it was wiped, ` +
    'restored from an older copy, or is another store (or this process was given the data directory ' +
    'of another cluster, and needs its own). Nothing is taken from it or written to it; ' +
    'the last known table stays in force. Bring the right store back; or, if an older copy of it ' +
    'must do, restart every placedriver and datanode once it is in place'
  );
}
