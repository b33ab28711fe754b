/** What the lines of one batch of reads see of an engine: as it is now, then as it was in that turn. */
import { RecordOpener } from '../../encoding/txn/large-records.ts';
import type { Lookups, View } from '../../encoding/txn/view.ts';
import type { Engine, EngineSnapshot } from '../../engine/engine.ts';

/** A record from this size on costs more to read again than others to be told from it. */
const KEPT_BYTES = 65_536;

/** An object that is cheap to make, since most batches have one line. */
export class BatchView implements View {
  /** The engine, then a snapshot of it taken in the same turn: what was begun can go on. */
  #reader: Pick<Engine, 'getSync'>;
  #isStill = false;
  /** Of a snapshot, which does not change: many lines may look at one long string. */
  #kept: { readonly key: Buffer; readonly value: Buffer } | undefined;
  readonly lookups: Lookups;
  readonly opener = new RecordOpener();
  /** Of records. */
  bytesRead = 0;

  constructor(reader: Pick<Engine, 'getSync'>, lookups: Lookups) {
    this.#reader = reader;
    this.lookups = lookups;
  }

  moveTo(snapshot: EngineSnapshot): void {
    this.#reader = snapshot;
    this.#isStill = true;
    this.#kept = undefined;
  }

  get(key: Buffer): Buffer | undefined {
    if (this.#kept?.key.equals(key)) return this.#kept.value;
    const record = this.#reader.getSync(key);
    if (record === undefined) return undefined;
    this.bytesRead += record.length;
    const value = this.opener.open(key, record);
    if (this.#isStill && record.length >= KEPT_BYTES) this.#kept = { key: Buffer.from(key), value };
    return value;
  }
}
