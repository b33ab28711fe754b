/**
 * The bytes of one simulated file: the image that reads see, and for every 512-byte sector that
 * was changed since the last sync what the platter still holds.
 */
import type { Random } from '../../src/common/random.ts';

export const SECTOR_BYTES = 512;
const PAGE_BYTES = 64 * 1024;
const emptyPage = Buffer.alloc(PAGE_BYTES);
/** Version of a sector whose sync failed: no later sync makes it durable until it is rewritten. */
const NEVER = Number.POSITIVE_INFINITY;

interface Undo {
  /** Durable content; undefined for zeros. */
  old: Buffer | undefined;
  /** Syncs that began at or after this version make the sector durable. */
  version: number;
  /** It holds more than zeros that were never synced. */
  data: boolean;
  /** Set when the sector changed again during a sync: what that sync makes durable. */
  next: { readonly old: Buffer | undefined; readonly version: number } | undefined;
}

interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** What a sync makes durable: the changes up to a version in a range. */
interface SyncCover {
  readonly version: number;
  readonly size: number;
  readonly range: ByteRange;
}

/** How an operating system crash treats what was not synced. */
export interface CrashOdds {
  readonly lost: number;
  readonly garbage: number;
}

export class SimFile {
  size = 0;
  /** Absent pages are zeros. */
  readonly #pages = new Map<number, Buffer>();
  readonly #undo = new Map<number, Undo>();
  /** Of those, the ones with data. */
  #unsyncedData = 0;
  /** Those that have a `next`: they changed during the sync under way. */
  #changedAgain: Undo[] = [];
  #durableSize = 0;
  #version = 0;
  #syncing: number | undefined;
  /** Syncs of one file follow each other. */
  lastSync: Promise<void> = Promise.resolve();

  read(offset: number, length: number): Buffer {
    const count = Math.max(0, Math.min(length, this.size - offset));
    const bytes = Buffer.alloc(count);
    for (let done = 0; done < count; ) {
      const at = offset + done;
      const start = at % PAGE_BYTES;
      const part = Math.min(PAGE_BYTES - start, count - done);
      const page = this.#pages.get(Math.floor(at / PAGE_BYTES));
      page?.copy(bytes, done, start, start + part);
      done += part;
    }
    return bytes;
  }

  write(offset: number, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const first = Math.floor(offset / SECTOR_BYTES);
    const last = Math.floor((offset + bytes.length - 1) / SECTOR_BYTES);
    const data = !isZero(bytes);
    for (let sector = first; sector <= last; sector++) this.#note(sector, data);
    this.#put(offset, bytes);
    this.size = Math.max(this.size, offset + bytes.length);
  }

  truncate(size: number): void {
    if (size < this.size) this.write(size, Buffer.alloc(this.size - size));
    this.size = size;
  }

  /** Changes bits in every image: damage, not a write. */
  flip(offset: number, mask: number): void {
    const bytes = this.read(offset, 1);
    this.#put(offset, Buffer.from([bytes.readUInt8(0) ^ mask]));
  }

  #put(offset: number, bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length; ) {
      const at = offset + done;
      const start = at % PAGE_BYTES;
      const part = Math.min(PAGE_BYTES - start, bytes.length - done);
      const piece = bytes.subarray(done, done + part);
      const number = Math.floor(at / PAGE_BYTES);
      let page = this.#pages.get(number);
      if (page === undefined && !emptyPage.subarray(0, part).equals(piece)) {
        page = Buffer.alloc(PAGE_BYTES);
        this.#pages.set(number, page);
      }
      page?.set(piece, start);
      done += part;
    }
  }

  #sector(sector: number): Buffer | undefined {
    const at = sector * SECTOR_BYTES;
    const page = this.#pages.get(Math.floor(at / PAGE_BYTES));
    const start = at % PAGE_BYTES;
    return page === undefined ? undefined : Buffer.from(page.subarray(start, start + SECTOR_BYTES));
  }

  /** Something besides zeros waits for a sync. */
  get hasUnsyncedData(): boolean {
    return this.#unsyncedData > 0;
  }

  #note(sector: number, data: boolean): void {
    const undo = this.#undo.get(sector);
    this.#version++;
    if (data && !undo?.data) this.#unsyncedData++;
    if (undo !== undefined) undo.data ||= data;
    if (undo === undefined) {
      const old = this.#sector(sector);
      this.#undo.set(sector, { old, version: this.#version, data, next: undefined });
    } else if (undo.version === NEVER) {
      undo.version = this.#version;
    } else if (this.#syncing !== undefined && undo.version <= this.#syncing && !undo.next) {
      undo.next = { old: this.#sector(sector), version: this.#version };
      this.#changedAgain.push(undo);
    }
  }

  /** Takes note of what a sync beginning now covers; `endSync` makes just that durable. */
  beginSync(range: ByteRange = { from: 0, to: Number.POSITIVE_INFINITY }): SyncCover {
    this.#syncing = this.#version;
    const size = Math.max(this.#durableSize, Math.min(this.size, range.to));
    return { version: this.#version, size, range };
  }

  endSync({ version, size, range }: SyncCover, failed: boolean): void {
    this.#syncing = undefined;
    for (const [sector, undo] of this.#within(range)) {
      if (undo.version > version) continue;
      const { next } = undo;
      undo.next = undefined;
      if (failed) {
        undo.version = next?.version ?? NEVER;
      } else if (next === undefined) {
        this.#undo.delete(sector);
        if (undo.data) this.#unsyncedData--;
      } else {
        undo.old = next.old;
        undo.version = next.version;
      }
    }
    // those beyond the range as well: this sync makes nothing of them durable
    for (const undo of this.#changedAgain) undo.next = undefined;
    this.#changedAgain = [];
    if (!failed) this.#durableSize = size;
  }

  /** What waits for a sync there: a sync of a log is of a few sectors, and thousands may wait. */
  *#within({ from, to }: ByteRange): Generator<[sector: number, undo: Undo]> {
    const first = Math.floor(from / SECTOR_BYTES);
    const end = Math.ceil(to / SECTOR_BYTES);
    if (end - first >= this.#undo.size) {
      for (const each of this.#undo) if (each[0] >= first && each[0] < end) yield each;
      return;
    }
    for (let sector = first; sector < end; sector++) {
      const undo = this.#undo.get(sector);
      if (undo !== undefined) yield [sector, undo];
    }
  }

  /** Syncs under way died with their process: the next one covers what changed during them as well. */
  endLife(): void {
    this.#syncing = undefined;
    for (const undo of this.#changedAgain) undo.next = undefined;
    this.#changedAgain = [];
    this.lastSync = Promise.resolve();
  }

  /** What is on the platter becomes the file. */
  crash(random: Random, odds: CrashOdds): void {
    for (const [sector, undo] of this.#undo) {
      const draw = random.float();
      if (draw >= odds.lost + odds.garbage) continue;
      let bytes: Buffer | undefined;
      if (draw < odds.lost) bytes = undo.next && random.below(2) === 0 ? undo.next.old : undo.old;
      else bytes = garbage(random);
      this.#put(sector * SECTOR_BYTES, bytes ?? Buffer.alloc(SECTOR_BYTES));
    }
    const size = random.float() < odds.lost ? this.#durableSize : this.size;
    this.#undo.clear();
    this.#unsyncedData = 0;
    this.#changedAgain = [];
    const beyond = Math.max(this.size, this.#durableSize) + SECTOR_BYTES;
    this.#put(size, Buffer.alloc(Math.max(0, beyond - size)));
    this.size = size;
    this.#durableSize = size;
  }
}

function garbage(random: Random): Buffer {
  const bytes = Buffer.alloc(SECTOR_BYTES);
  for (let at = 0; at < SECTOR_BYTES; at += 4) bytes.writeUInt32BE(random.u32(), at);
  return bytes;
}

function isZero(bytes: Uint8Array): boolean {
  for (let at = 0; at < bytes.length; at++) if (bytes[at] !== 0) return false;
  return true;
}
