/**
 * Views of an engine: `createView` reads, `Txn` gathers the changes of a whole engine batch (many
 * entries, many commands) and lets its reads see them. Records are sealed and checked here, so
 * nobody above meets a checksum.
 *
 * Range reads come in slices: at most `limit` pairs (and `rangeHandedPairs`) and about
 * `rangeSliceBytes`, at least one pair unless the range is empty. Whoever wants more asks again
 * behind the last key; an empty slice is the end.
 */
import { limits } from '../../../common/limits.ts';
import { SteadyList } from '../../../common/steady-list.ts';
import type {
  BatchOperation,
  BatchOperations,
  EngineReader,
  KeyRange,
  KeyValue,
} from '../../engine/engine.ts';
import { RankTrees } from '../ranks/rank-trees.ts';
import { madeAt } from '../records/element-key.ts';
import { PLAIN_STRING, type PlainString, type Version } from '../records/header.ts';
import { isExpiryKey } from '../records/key.ts';
import { ElementNames } from '../records/key-name.ts';
import { openRecord, sealRecord } from '../records/record.ts';
import { COUNTS_KEY } from '../records/system.ts';
import { tags } from '../records/tags.ts';
import type { Pacing } from '../steps/slices.ts';
import { AddedCounts } from './added-counts.ts';
import type { ChangeSet } from './change-set.ts';
import { EARLY_KEY, EarlyElements, type EarlyStore } from './early-elements.ts';
import { LARGE_RECORD_BYTES, RecordOpener, sealLarge } from './large-records.ts';
import { LateDeletion } from './late-deletion.ts';
import { ManyNew, NewApart } from './new-elements.ts';
import { OverlaidRanges } from './overlaid-ranges.ts';
import { type Change, keyOf, type Named, Overlay } from './overlay.ts';
import { readSlice } from './read-ahead.ts';
import type { KeyEvent, KeyEventClass, Lookups, View, WriteView } from './view.ts';

/** With an `opener`, that one is to be asked to check before anything read here is told. */
export function createView(
  reader: Pick<EngineReader, 'getSync'>,
  lookups?: Lookups,
  opener?: RecordOpener,
): View {
  return {
    lookups,
    get(key) {
      const record = reader.getSync(key);
      if (record === undefined) return undefined;
      return opener === undefined ? openRecord(key, record) : opener.open(key, record);
    },
  };
}

/** The first slice of `range` in `reader`. */
export async function readRange(reader: EngineReader, range: KeyRange): Promise<KeyValue[]> {
  return [...(await readSlice(reader, range)).pairs];
}

/** Records sealed before others may have their turn, and bytes of them. */
const SEALED_STEP = 64;
const SEALED_STEP_BYTES = 262_144;
/** Changes that are only looked at, likewise. */
const LOOKED_STEP = 512;
/** More changes than these, or bytes of them, are sealed in steps. */
const CHANGES_AT_ONCE_MAX = 512;
const CHANGED_BYTES_AT_ONCE_MAX = LARGE_RECORD_BYTES;

type KeyListener = (key: Buffer) => void;

/**
 * Called once with the whole write set before it becomes a batch; what it puts joins the batch.
 * `before` is the state without the Txn. The seam of secondary indexes.
 */
export type WriteObserver = (changes: readonly Change[], txn: WriteView, before: View) => void;

/** An engine that may know of a key what is stored under it without reading that. */
export interface TxnReader extends EngineReader {
  /** True: a string, or the field of a hash, without a deadline is. False says nothing. */
  holdsPlain?(key: Buffer): boolean;
  /** What is stored, as it was before it was sealed; undefined says nothing. */
  knownValue?(key: Buffer): Buffer | undefined;
}

export class Txn implements WriteView {
  readonly #reader: TxnReader;
  readonly #opener = new RecordOpener();
  readonly #before: View;
  readonly #observers: readonly WriteObserver[];
  /** What they have changed joins the other changes before anybody looks for it there. */
  readonly ranks: RankTrees;
  readonly #overlay = new Overlay();
  readonly #ranges: OverlaidRanges;
  readonly #early: EarlyElements | undefined;
  /**
   * Of values put, those put over others included. Alike on every replica, as far as one entry goes:
   * what is kept apart does not count, since when it joins depends on what else is in the batch.
   */
  putBytes = 0;
  /** When the entry began. */
  #putBefore = 0;
  /** What is kept apart joins the changes just now. */
  #isJoining = false;
  /** As `ranks`. */
  readonly #counts = new AddedCounts();
  #entryIndex = 0;
  /** Of the first entry. */
  #sinceIndex = Number.POSITIVE_INFINITY;
  #ordinal = 0;
  /** Some collection is made. */
  #isMaking = false;
  #earliestDeadlineMs = Number.POSITIVE_INFINITY;
  #leavesGarbage = false;
  #events: KeyEvent[] = [];
  #recording = false;
  /** Keys that commands tell of, if somebody wants to know: as often as they do. */
  touched: Buffer[] | undefined;
  #onKeyPut: KeyListener | undefined;
  #onKeyDelete: KeyListener | undefined;
  #elements: ElementNames | undefined;

  /**
   * With `ranks`, those are what this reader has; with `early`, what it makes of new collections may be
   * in the engine before the rest is written, which has to be then.
   */
  constructor(
    reader: TxnReader,
    observers: readonly WriteObserver[] = [],
    ranks = new RankTrees(),
    early?: EarlyStore,
  ) {
    this.ranks = ranks;
    this.#reader = reader;
    this.#before = createView(reader, undefined, this.#opener);
    this.#ranges = new OverlaidRanges(reader, this.#overlay, (key) => this.#isNew(key));
    this.#observers = observers;
    this.#early = early && new EarlyElements(early);
  }

  /** The smallest deadline put into an expiry index so far; Infinity when none was. */
  get earliestDeadlineMs(): number {
    return this.#earliestDeadlineMs;
  }

  /** Some collection ended whose elements are to be removed. */
  get leavesGarbage(): boolean {
    return this.#leavesGarbage;
  }

  /** What follows comes from the log entry at `index`: versions are made of it. */
  beginEntry(index: number): void {
    this.#entryIndex = index;
    this.#sinceIndex = Math.min(this.#sinceIndex, index);
    this.#ordinal = 0;
    this.#putBefore = this.putBytes;
  }

  get entryPutBytes(): number {
    return this.putBytes - this.#putBefore;
  }

  /** Whether events of what follows are kept. */
  recordEvents(on: boolean): void {
    this.#recording = on;
  }

  /** What was told of before this began comes before what it tells. */
  keepEarlierEvents(events: readonly KeyEvent[]): void {
    this.#events = [...events, ...this.#events];
  }

  /** Tells, by its engine key, of every record of a key that is put from now on, and that is deleted. */
  observeKeys(onPut: KeyListener | undefined, onDelete?: KeyListener): void {
    this.#onKeyPut = onPut;
    this.#onKeyDelete = onDelete;
  }

  /** Those kept so far, in order. */
  get events(): readonly KeyEvent[] {
    return this.#events;
  }

  notify(of: KeyEventClass, event: string, key: Buffer): void {
    if (this.#recording) this.#events.push({ of, event, key });
    this.touched?.push(key);
  }

  newVersion(): Version {
    this.#isMaking = true;
    return { index: this.#entryIndex, ordinal: this.#ordinal++ };
  }

  get(key: Buffer): Buffer | undefined {
    if (key === COUNTS_KEY) this.#join(this.#counts);
    const change = this.#overlay.get(key);
    if (change !== undefined) return change.after;
    if (this.#isNew(key)) return undefined;
    return this.#reader.knownValue?.(key) ?? this.#before.get(key);
  }

  outline(key: Buffer): Buffer | PlainString | undefined {
    const change = this.#overlay.get(key);
    if (change !== undefined) return change.after;
    if (this.#isNew(key)) return undefined;
    return this.#reader.holdsPlain?.(key) ? PLAIN_STRING : this.#before.get(key);
  }

  /**
   * An element of a collection that this Txn makes: the engine has none, since it holds what entries
   * before this one left, and a store of a million need not ask a million times; unless it stores early.
   */
  #isNew(key: Buffer): boolean {
    return madeAt(key) >= this.#sinceIndex && this.#early?.holds(key) !== true;
  }

  addCounts(keys: number, expires: number): void {
    this.#counts.add(keys, expires);
  }

  put(key: Buffer, value: Buffer): void {
    if (key === COUNTS_KEY) this.#counts.forget();
    if (isExpiryKey(key)) this.#observeDeadline(key);
    else if (key[0] === tags.garbage) this.#leavesGarbage = true;
    if (this.#onKeyPut !== undefined && key[0] === tags.key) this.#onKeyPut(key);
    if (!this.#isJoining) this.putBytes += value.length;
    this.#overlay.set(key, value);
  }

  del(key: Buffer): void {
    if (this.#onKeyDelete !== undefined && key[0] === tags.key) this.#onKeyDelete(key);
    this.#overlay.set(key, undefined);
  }

  /** The first slice of `range` in the engine as changed by this Txn. */
  range(range: KeyRange): readonly KeyValue[] | Promise<readonly KeyValue[]> {
    if (this.#early?.isDue(this.#overlay)) return this.#storeEarly(range);
    if (range.gte.compare(range.lt) >= 0) return [];
    if (mayHoldNodes(range)) this.#join(this.ranks);
    return this.#ranges.read(range);
  }

  /** Whoever asks for a range waits anyway, and holds nothing but what it was given. */
  async #storeEarly(range: KeyRange): Promise<readonly KeyValue[]> {
    const isStored = await this.#early!.store(this.#overlay, this.#sinceIndex);
    if (isStored) this.#ranges.end();
    return this.range(range);
  }

  /** What its changes take in memory, near enough, but for those that are stored. */
  get heldBytes(): number {
    return this.#overlay.bytes;
  }

  /** More than should be sealed, or checked, at once. */
  get isLarge(): boolean {
    if (this.#overlay.size > CHANGES_AT_ONCE_MAX || !this.#opener.isDone) return true;
    return this.putBytes > CHANGED_BYTES_AT_ONCE_MAX;
  }

  /** Reads are over: what they gave is checked, as a batch does too. Throws KvorumError CORRUPT. */
  checkReads(): void {
    this.#ranges.end();
    this.#opener.check();
  }

  #join(apart: { flush(view: WriteView): void }): void {
    // it may read itself what is kept apart
    const isWithin = this.#isJoining;
    this.#isJoining = true;
    apart.flush(this);
    this.#isJoining = isWithin;
  }

  /** What is kept apart joins the changes. */
  #settle(): void {
    this.#join(this.ranks);
    this.#join(this.#counts);
    if (this.#early?.isMarked) this.del(EARLY_KEY);
  }

  changes(): Iterable<Change> {
    this.#settle();
    return this.#overlay.changes();
  }

  /** For whoever looks for what was changed; not before `operations` or a batch was asked for. */
  get changed(): ChangeSet {
    return {
      all: () => this.#overlay.changes(),
      get: (name) => this.#overlay.changeOf(name),
      elements: this.#elements?.names,
      touched: this.touched,
    };
  }

  /** The changes as one engine batch, sealed; in the order of first change, so that it is equal on
   * every replica. */
  operations(): BatchOperation[] {
    this.#settle();
    this.checkReads();
    this.#observe();
    return this.#overlay.map((named) => operationAtOnce(named));
  }

  /** The same for the engine, which may be told in it what it may store early. */
  batch(): BatchOperations {
    const operations = this.operations();
    return this.#isMaking ? new NewApart(operations, this.#sinceIndex) : operations;
  }

  /** The same, with pauses. Nothing may be changed meanwhile, nor before it is written. */
  async batchInSteps(pace: Pacing): Promise<BatchOperations> {
    this.#settle();
    await this.#opener.checkInSteps(pace);
    this.#ranges.end();
    this.#observe();
    const isMany = this.#isMaking && this.#isOfMany;
    const isStored = (name: string) => this.#early?.holdsName(name) === true;
    const many = isMany ? new ManyNew(this.#overlay, this.#sinceIndex, isStored) : undefined;
    const others = await this.#sealInSteps(pace, many);
    // handing them to the engine is a turn's work
    await pace.pause();
    return many ?? (this.#isMaking ? new NewApart(others, this.#sinceIndex) : others);
  }

  /** What `many` does not take. */
  async #sealInSteps(pace: Pacing, many: ManyNew | undefined): Promise<BatchOperations> {
    const others = many?.others ?? this.#listOfChanges();
    const elements = new ElementNames();
    this.#elements = elements;
    const operationOf = this.#isOfMany ? lateOperationOf : operationAtOnce;
    let bytes = 0;
    let looked = 0;
    for (let at = 0; at < this.#overlay.size; at++) {
      const named = this.#overlay.namedAt(at);
      if (many?.takes(named)) {
        if (++looked % LOOKED_STEP === 0 && pace.isDue()) await pace.pause();
        continue;
      }
      const { after = NO_BYTES } = named;
      const key = keyOf(named);
      elements.add(key);
      const isLarge = after.length >= LARGE_RECORD_BYTES;
      const value = isLarge ? await sealLarge(key, after, pace) : undefined;
      others.push(value === undefined ? operationOf(named, key) : { type: 'put', key, value });
      bytes += isLarge ? 0 : after.length;
      if (others.length % SEALED_STEP !== 0 && bytes < SEALED_STEP_BYTES) continue;
      bytes = 0;
      if (pace.isDue()) await pace.pause();
    }
    for (const prefix of many?.prefixes ?? []) elements.add(prefix);
    return others;
  }

  /** An array, which is walked sooner, unless it would be so long that growing it takes a while. */
  #listOfChanges(): BatchOperation[] | SteadyList<BatchOperation> {
    return this.#isOfMany ? new SteadyList() : [];
  }

  get #isOfMany(): boolean {
    return this.#overlay.size > limits.engineWholeOperationsMax;
  }

  #observe(): void {
    if (this.#observers.length === 0) return;
    const changes = [...this.#overlay.changes()];
    for (const observe of this.#observers) observe(changes, this, this.#before);
  }

  #observeDeadline(key: Buffer): void {
    const deadlineMs = key.readUInt32BE(1) * 0x1_0000_0000 + key.readUInt32BE(5);
    if (deadlineMs < this.#earliestDeadlineMs) this.#earliestDeadlineMs = deadlineMs;
  }
}

function operationAtOnce(named: Named, key = keyOf(named)): BatchOperation {
  const { name, after } = named;
  return after === undefined
    ? { type: 'del', key, name }
    : { type: 'put', key, value: sealRecord(key, after), name };
}

function lateOperationOf(named: Named, key: Buffer): BatchOperation {
  const isKept = named.after !== undefined || named.key !== undefined;
  return isKept ? operationAtOnce(named, key) : new LateDeletion(named.name);
}

/** Whether nodes of counted trees may lie in `range`. */
function mayHoldNodes({ gte, lt }: KeyRange): boolean {
  return gte[0]! <= tags.zsetBlock && lt[0]! >= tags.zsetBlock;
}

const NO_BYTES = Buffer.alloc(0);
