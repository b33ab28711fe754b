/**
 * Starts of a node are counted, in its data directory and in the metadata store. A directory that
 * counts fewer than the store is an older copy that was put back: it has forgotten votes and entries
 * that its replicas have acknowledged since, and with others of its groups could elect a leader
 * without them. So it never registers, and is held until it has (`partition/members/return-hold`).
 *
 * The directory counts first, and the store when the node registers: so it is never behind by itself.
 * A store that was set back counts fewer, which says nothing. A copy that was taken while this very
 * life ran counts the same, and is found by its leader's heartbeats at the earliest.
 */
import { KvorumError } from '../../common/errors.ts';
import type { NodeId } from '../../common/ids.ts';
import { encodeRecord, type IncarnationRecord, keys, SCHEMA_VERSION } from '../../meta/schema.ts';

/** What the data directory remembers. */
export interface LifeNotes {
  readonly life: number | undefined;
  beginLife(life: number): Promise<void>;
}

export class Life {
  readonly #notes: LifeNotes;
  /** Of this process. */
  #own: number | undefined;

  constructor(notes: LifeNotes) {
    this.#notes = notes;
  }

  /**
   * What to write of this life beside the registration, once it is on disk here. `stored`: what the
   * store has of the name. Throws CONFLICT when this is an older copy of the node's data directory.
   */
  async begin({ node, incarnation }: Owner, stored: IncarnationRecord | undefined): Promise<Put> {
    const known = stored?.life ?? 0;
    const { life } = this.#notes;
    // an older build counts nothing: what it leaves is not judged
    if (life !== undefined && life < known) throw olderCopy(node, life, known);
    if (this.#own === undefined) {
      const own = Math.max(life ?? 0, known) + 1;
      await this.#notes.beginLife(own);
      this.#own = own;
    }
    const record: IncarnationRecord = {
      version: SCHEMA_VERSION,
      node,
      incarnation,
      life: this.#own,
    };
    return { type: 'put', key: keys.incarnation(node), value: encodeRecord(record) };
  }
}

type Owner = Pick<IncarnationRecord, 'node' | 'incarnation'>;

interface Put {
  readonly type: 'put';
  readonly key: string;
  readonly value: string;
}

function olderCopy(node: NodeId, life: number, known: number): KvorumError {
  return new KvorumError(
    'CONFLICT',
    `this data directory of node ${node} is an older copy that was put back: it is of start ${life}, ` +
      `and the node was started ${known} times. It has forgotten what it acknowledged since, so it ` +
      'must not vote: move the directory away, and the node comes back empty and is filled by its ' +
      `peers. If no newer data is left anywhere, remove ${keys.incarnation(node)} from the metadata ` +
      'store: then it is taken as it is, and what came later is lost',
  );
}
