/**
 * A hash over what commands can reach in an engine: key records, expiry index, the replica's own
 * records, and the elements of live collections. Elements of collections that ended, and garbage
 * records, are removed by each replica when it likes (decision 14): they do not count. Nor does what it
 * has stored early of collections that are being made, and that it has.
 *
 * Each pair counts by itself, so the hash does not depend on the order in which pairs came.
 */
import { crc32 } from '../../src/common/checksum.ts';
import { elementTags, isCollectionType } from '../../src/datanode/encoding/records/element-key.ts';
import { decodeCollection, decodeHeader } from '../../src/datanode/encoding/records/header.ts';
import { openRecord } from '../../src/datanode/encoding/records/record.ts';
import { tags } from '../../src/datanode/encoding/records/tags.ts';
import { EARLY_KEY } from '../../src/datanode/encoding/txn/early-elements.ts';
import type { BatchOperation, BatchOperations } from '../../src/datanode/engine/engine.ts';

const elementTagSet = new Set<number>(Object.values(elementTags).flat());
/** What an engine has beside the data: records of a large write that is under way. */
const ENGINE_TAG = 0x00;
/** Slot and version, behind the tag. */
const PLACE_END = 15;

export class ObservableHash {
  #value = 0;
  /** By place: the elements there, live or not. */
  readonly #elements = new Map<string, number>();
  /** By place: how many key records name it. */
  readonly #live = new Map<string, number>();

  get value(): number {
    return this.#value;
  }

  /** To be called before `operations` change what `read` gives. */
  change(read: (key: Buffer) => Buffer | undefined, operations: BatchOperations): void {
    const latest = new Map<string, BatchOperation>();
    for (const operation of operations) latest.set(operation.key.toString('latin1'), operation);
    for (const operation of latest.values()) {
      const { key } = operation;
      const after = operation.type === 'put' ? operation.value : undefined;
      this.#changePair(key, read(key), after);
    }
  }

  /** Its value after such a change. */
  valueAfter(read: (key: Buffer) => Buffer | undefined, operations: BatchOperations): number {
    const after = new Map<string, BatchOperation>();
    for (const operation of operations) after.set(operation.key.toString('latin1'), operation);
    const changes = [...after.values()];
    const undone = changes.map(({ key }): BatchOperation => {
      const value = read(key);
      return value === undefined ? { type: 'del', key } : { type: 'put', key, value };
    });
    this.change(read, changes);
    const value = this.#value;
    this.change((key) => {
      const change = after.get(key.toString('latin1'));
      return change?.type === 'put' ? change.value : undefined;
    }, undone);
    return value;
  }

  #changePair(key: Buffer, before: Buffer | undefined, after: Buffer | undefined): void {
    const change = pairHash(key, before) ^ pairHash(key, after);
    const tag = key[0]!;
    if (tag === tags.garbage || tag === ENGINE_TAG || key.equals(EARLY_KEY)) return;
    if (elementTagSet.has(tag)) {
      const place = key.toString('latin1', 1, PLACE_END);
      this.#elements.set(place, (this.#elements.get(place) ?? 0) ^ change);
      if (this.#live.has(place)) this.#value ^= change;
      return;
    }
    this.#value ^= change;
    if (tag !== tags.key) return;
    this.#count(placeOf(key, before), -1);
    this.#count(placeOf(key, after), 1);
  }

  #count(place: string | undefined, change: number): void {
    if (place === undefined) return;
    const before = this.#live.get(place) ?? 0;
    const after = before + change;
    if (after === 0) this.#live.delete(place);
    else this.#live.set(place, after);
    if ((before === 0) !== (after === 0)) this.#value ^= this.#elements.get(place) ?? 0;
  }
}

/** What one pair counts for. */
export function pairHash(key: Buffer, value: Buffer | undefined): number {
  return value === undefined ? 0 : crc32(value, crc32(key)) | 0;
}

/** Where the elements of the key record's value are; undefined where it has none. */
function placeOf(key: Buffer, record: Buffer | undefined): string | undefined {
  if (record === undefined) return undefined;
  const { type, body } = decodeHeader(key, openRecord(key, record));
  if (!isCollectionType(type)) return undefined;
  const { version } = decodeCollection(key, body);
  const place = Buffer.alloc(PLACE_END - 1);
  key.copy(place, 0, 1, 3);
  place.writeBigUInt64BE(BigInt(version.index), 2);
  place.writeUInt32BE(version.ordinal, 10);
  return place.toString('latin1');
}
