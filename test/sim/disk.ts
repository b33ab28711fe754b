/**
 * A machine's disk in memory: what programs see, and what a crash leaves. A process crash keeps
 * the page cache; a crash of the operating system decides per un-synced 512-byte sector whether it
 * is kept, lost or garbage, and per un-synced name whether it is there. Directories themselves are
 * durable at once. Everything follows from the handed-in Random; waiting goes through the Clock.
 *
 * `new SimDisk()` is the disk of the first life. After `crash` use the same object: handles opened
 * before fail, and operations that were under way never end. `session()` gives a Disk that dies
 * with the life it was made in, for code that may still run after its process was killed.
 */
import type { Clock } from '../../src/common/clock.ts';
import type { Disk, DiskFile, OpenMode } from '../../src/common/disk.ts';
import type { Random } from '../../src/common/random.ts';
import { type CrashOdds, SECTOR_BYTES, SimFile } from './sim-file.ts';

export type DiskOperation =
  | 'open'
  | 'pread'
  | 'pwrite'
  | 'fdatasync'
  | 'truncate'
  | 'rename'
  | 'link'
  | 'unlink'
  | 'syncDir'
  /** Asking for names and making directories. */
  | 'look';

/** Milliseconds an operation takes; drawn from half to one and a half times this. */
export interface DiskLatency {
  readonly read?: number;
  readonly write?: number;
  readonly sync?: number;
  /** Opening, renaming, removing and syncing names. */
  readonly name?: number;
}

interface NameChange {
  readonly path: string;
  /** Undefined: the name is removed. */
  readonly file: SimFile | undefined;
}

interface NameStep {
  readonly changes: readonly NameChange[];
  /** A sync of one of these makes it durable. */
  readonly directories: readonly string[];
}

interface Fault {
  readonly operation: DiskOperation;
  readonly code: string;
  readonly path: string;
  skip: number;
}

interface PendingWrite {
  readonly file: SimFile;
  readonly offset: number;
  readonly bytes: Uint8Array;
}

const latencyOf = {
  open: 'name',
  pread: 'read',
  pwrite: 'write',
  fdatasync: 'sync',
  truncate: 'write',
  rename: 'name',
  link: 'name',
  unlink: 'name',
  syncDir: 'sync',
  look: 'name',
} as const satisfies Record<DiskOperation, keyof DiskLatency>;

export class SimDisk implements Disk {
  readonly #random: Random;
  readonly #clock: Clock;
  readonly #latency: DiskLatency;
  #names = new Map<string, SimFile>();
  #durableNames = new Map<string, SimFile>();
  /** Changes of names not yet synced, oldest first; each is kept or lost as a whole. */
  #nameLog: NameStep[] = [];
  readonly #directories = new Set<string>();
  readonly #pendingWrites = new Set<PendingWrite>();
  #faults: Fault[] = [];
  #life = 0;
  #slowness = 1;
  #bytesMax = Number.POSITIVE_INFINITY;

  constructor(options: {
    readonly random: Random;
    readonly clock: Clock;
    readonly latencyMs?: number | DiskLatency;
  }) {
    this.#random = options.random;
    this.#clock = options.clock;
    const all = options.latencyMs ?? 0;
    this.#latency = typeof all === 'number' ? { read: all, write: all, sync: all, name: all } : all;
  }

  // -- the disk ---------------------------------------------------------------------------------

  open(path: string, mode: OpenMode): Promise<DiskFile> {
    return this.#operate('open', path, () => {
      const known = this.#names.get(path);
      if (mode === 'create') {
        if (known !== undefined || this.#directories.has(path)) throw failure('EEXIST', path);
        if (!this.#directories.has(directoryOf(path))) throw failure('ENOENT', path);
        const file = new SimFile();
        this.#rename([{ path, file }]);
        return this.#handle(path, file, true);
      }
      if (known === undefined) throw failure('ENOENT', path);
      return this.#handle(path, known, mode === 'write');
    });
  }

  rename(from: string, to: string): Promise<void> {
    return this.#operate('rename', from, () => {
      const file = this.#names.get(from);
      if (file === undefined) return this.#renameDirectory(from, to);
      this.#rename([
        { path: from, file: undefined },
        { path: to, file },
      ]);
    });
  }

  link(from: string, to: string): Promise<void> {
    return this.#operate('link', from, () => {
      const file = this.#names.get(from);
      if (file === undefined) throw failure('ENOENT', from);
      if (this.#names.has(to) || this.#directories.has(to)) throw failure('EEXIST', to);
      this.#rename([{ path: to, file }]);
    });
  }

  unlink(path: string): Promise<void> {
    return this.#operate('unlink', path, () => {
      if (!this.#names.has(path)) throw failure('ENOENT', path);
      this.#rename([{ path, file: undefined }]);
    });
  }

  exists(path: string): Promise<boolean> {
    return this.#operate('look', path, () => this.#names.has(path) || this.#directories.has(path));
  }

  list(path: string): Promise<string[]> {
    return this.#operate('look', path, () => {
      const found = new Set<string>();
      for (const name of [...this.#names.keys(), ...this.#directories]) {
        if (name.startsWith(`${path}/`)) found.add(name.slice(path.length + 1).split('/')[0]!);
      }
      return [...found].sort();
    });
  }

  bytesBelow(path: string): Promise<number> {
    return this.#operate('look', path, () => {
      const below = [...this.#names].filter(([name]) => name.startsWith(`${path}/`));
      return below.reduce((sum, [, file]) => sum + file.size, 0);
    });
  }

  makeDir(path: string): Promise<void> {
    return this.#operate('look', path, () => {
      for (let at = path; at !== '' && at !== '/' && at !== '.'; at = directoryOf(at)) {
        if (this.#names.has(at)) throw failure('EEXIST', at);
        this.#directories.add(at);
      }
    });
  }

  removeTree(path: string): Promise<void> {
    return this.#operate('unlink', path, () => {
      const inside = (name: string) => name === path || name.startsWith(`${path}/`);
      const files = [...this.#names.keys()].filter(inside).sort();
      for (const name of files) this.#rename([{ path: name, file: undefined }]);
      for (const name of [...this.#directories].filter(inside)) this.#directories.delete(name);
    });
  }

  syncDir(path: string): Promise<void> {
    return this.#operate('syncDir', path, () => {
      const rest: NameStep[] = [];
      for (const step of this.#nameLog) {
        if (step.directories.includes(path)) applyNames(this.#durableNames, step.changes);
        else rest.push(step);
      }
      this.#nameLog = rest;
    });
  }

  // -- faults -----------------------------------------------------------------------------------

  /**
   * Ends this life. `process` keeps the page cache (a write under way is done in part); `os` keeps
   * what was synced and a random part of the rest.
   */
  crash(kind: 'process' | 'os'): void {
    this.#life++;
    this.#faults = [];
    for (const { file, offset, bytes } of this.#pendingWrites) {
      const sectors = Math.ceil(bytes.length / SECTOR_BYTES);
      const done = Math.min(this.#random.below(sectors + 1) * SECTOR_BYTES, bytes.length);
      file.write(offset, bytes.subarray(0, done));
    }
    this.#pendingWrites.clear();
    for (const file of this.#names.values()) file.endLife();
    if (kind === 'process') return;
    const odds = this.#crashOdds();
    this.#names = new Map(this.#durableNames);
    const blocked = new Set<string>();
    for (const { changes } of this.#nameLog) {
      const kept =
        changes.every((change) => !blocked.has(change.path)) && this.#random.float() >= odds.lost;
      if (kept) applyNames(this.#names, changes);
      else for (const change of changes) blocked.add(change.path);
    }
    this.#nameLog = [];
    const ended = new Set<SimFile>();
    for (const path of [...this.#names.keys()].sort()) {
      const file = this.#names.get(path)!;
      if (!ended.has(file)) {
        file.endLife();
        file.crash(this.#random, odds);
        ended.add(file);
      }
      this.#directories.add(directoryOf(path));
    }
    this.#durableNames = new Map(this.#names);
  }

  /** Some crashes lose all, some nothing, most a part: each run sees every kind. */
  #crashOdds(): CrashOdds {
    const lost = [0, 0.1, 0.5, 0.9, 1][this.#random.below(5)]!;
    const garbage = [0, 0.02, 0.3][this.#random.below(3)]! * (1 - lost);
    return { lost, garbage };
  }

  /**
   * The next operation of this kind fails with `code` (EIO unless told), after `skip` that do not;
   * only on paths that contain `path`. A failed fdatasync leaves its sectors un-synced for good:
   * later syncs of the same bytes succeed without making them durable.
   */
  failNext(
    operation: DiskOperation,
    options: { readonly code?: string; readonly skip?: number; readonly path?: string } = {},
  ): void {
    const { code = 'EIO', skip = 0, path = '' } = options;
    this.#faults.push({ operation, code, skip, path });
  }

  /** What `failNext` has planned and nothing has met is off. */
  forgetFaults(): void {
    this.#faults = [];
  }

  /** No file grows once all together hold `bytes`: ENOSPC after what still fits was written. */
  fullAfterBytes(bytes: number): void {
    this.#bytesMax = bytes;
  }

  /** Everything takes `factor` times as long from now on. */
  slow(factor: number): void {
    this.#slowness = factor;
  }

  /** Damages one byte of what is stored. */
  flip(path: string, offset: number, mask = 1): void {
    const file = this.#names.get(path);
    if (file === undefined) throw failure('ENOENT', path);
    file.flip(offset, mask);
  }

  /** All files as they are seen now, by path. */
  files(): { readonly path: string; readonly size: number }[] {
    return [...this.#names].map(([path, { size }]) => ({ path, size })).sort(byPath);
  }

  /** Whether a file in `directory` holds more than zeros that a loss of power may take. */
  hasUnsyncedData(directory: string): boolean {
    for (const [path, file] of this.#names) {
      if (file.hasUnsyncedData && directoryOf(path) === directory) return true;
    }
    return false;
  }

  /** Somebody removes what is below `path`, for good. */
  discard(path: string): void {
    for (const name of [...this.#names.keys()]) {
      if (!name.startsWith(`${path}/`)) continue;
      this.#names.delete(name);
      this.#durableNames.delete(name);
    }
    this.#nameLog = this.#nameLog.filter(({ changes }) =>
      changes.every((change) => !change.path.startsWith(`${path}/`)),
    );
    for (const name of [...this.#directories]) {
      if (name === path || name.startsWith(`${path}/`)) this.#directories.delete(name);
    }
  }

  /** What somebody keeps of the directory of a process that has ended: files by their paths. */
  copy(): ReadonlyMap<string, Buffer> {
    return new Map([...this.#names].map(([path, file]) => [path, file.read(0, file.size)]));
  }

  /** Somebody puts a copy into the place of all there is, for good. */
  putBack(copy: ReadonlyMap<string, Buffer>): void {
    this.#names = new Map();
    for (const [path, bytes] of copy) {
      const file = new SimFile();
      file.write(0, bytes);
      file.endSync(file.beginSync(), false);
      this.#names.set(path, file);
    }
    this.#durableNames = new Map(this.#names);
    this.#nameLog = [];
  }

  /** Bytes of all files. */
  get usedBytes(): number {
    let sum = 0;
    for (const file of this.#names.values()) sum += file.size;
    return sum;
  }

  /** A Disk for one life: after the next crash everything on it fails. */
  session(): Disk {
    const life = this.#life;
    const guard = <A extends unknown[], T>(run: (...args: A) => Promise<T>) => {
      return async (...args: A): Promise<T> => {
        if (life !== this.#life) throw failure('EBADF', 'a disk of before the crash');
        return run(...args);
      };
    };
    return {
      open: guard((path: string, mode: OpenMode) => this.open(path, mode)),
      rename: guard((from: string, to: string) => this.rename(from, to)),
      link: guard((from: string, to: string) => this.link(from, to)),
      unlink: guard((path: string) => this.unlink(path)),
      exists: guard((path: string) => this.exists(path)),
      list: guard((path: string) => this.list(path)),
      bytesBelow: guard((path: string) => this.bytesBelow(path)),
      makeDir: guard((path: string) => this.makeDir(path)),
      removeTree: guard((path: string) => this.removeTree(path)),
      syncDir: guard((path: string) => this.syncDir(path)),
    };
  }

  // -- inside -----------------------------------------------------------------------------------

  /** One promise and no function that waits: every write of every log comes through here. */
  #operate<T>(
    operation: DiskOperation,
    path: string,
    run: () => T,
    onEnd?: () => void,
  ): Promise<T> {
    const life = this.#life;
    const fault = this.#takeFault(operation, path);
    return new Promise<T>((resolve, reject) => {
      const end = () => {
        if (life !== this.#life) return; // what was under way when its process died has no end
        onEnd?.();
        try {
          if (fault !== undefined) throw failure(fault, path);
          resolve(run());
        } catch (error) {
          reject(error);
        }
      };
      const base = (this.#latency[latencyOf[operation]] ?? 0) * this.#slowness;
      if (base > 0) this.#clock.setTimer(base * (0.5 + this.#random.float()), end);
      else queueMicrotask(end);
    });
  }

  #takeFault(operation: DiskOperation, path: string): string | undefined {
    if (this.#faults.length === 0) return undefined;
    for (const [i, fault] of this.#faults.entries()) {
      if (fault.operation !== operation || !path.includes(fault.path)) continue;
      if (fault.skip > 0) {
        fault.skip--;
        continue;
      }
      this.#faults.splice(i, 1);
      return fault.code;
    }
    return undefined;
  }

  #rename(
    changes: readonly NameChange[],
    directories = changes.map(({ path }) => directoryOf(path)),
  ): void {
    applyNames(this.#names, changes);
    this.#nameLog.push({ changes: [...changes], directories });
  }

  #renameDirectory(from: string, to: string): void {
    if (!this.#directories.has(from)) throw failure('ENOENT', from);
    const moved = (name: string) => to + name.slice(from.length);
    const inside = (name: string) => name === from || name.startsWith(`${from}/`);
    for (const name of [...this.#directories].filter(inside)) {
      this.#directories.delete(name);
      this.#directories.add(moved(name));
    }
    const changes: NameChange[] = [];
    for (const [path, file] of this.#names) {
      if (!inside(path)) continue;
      changes.push({ path, file: undefined }, { path: moved(path), file });
    }
    this.#settleNames(inside);
    // a directory's own entry is in its parent
    if (changes.length > 0) this.#rename(changes, [directoryOf(from), directoryOf(to)]);
  }

  /** Journals keep the order of names: what was done inside a directory is not undone by its rename. */
  #settleNames(inside: (name: string) => boolean): void {
    const rest: NameStep[] = [];
    for (const step of this.#nameLog) {
      if (step.changes.some(({ path }) => inside(path)))
        applyNames(this.#durableNames, step.changes);
      else rest.push(step);
    }
    this.#nameLog = rest;
  }

  #handle(path: string, file: SimFile, writable: boolean): DiskFile {
    const life = this.#life;
    let open = true;
    const check = (writes: boolean) => {
      if (!open || life !== this.#life || (writes && !writable)) throw failure('EBADF', path);
    };
    return {
      path,
      size: async () => {
        check(false);
        return file.size;
      },
      pread: async (offset, length) => {
        check(false);
        return this.#operate('pread', path, () => file.read(offset, length));
      },
      preadSync: (offset, length) => {
        check(false);
        const fault = this.#takeFault('pread', path);
        if (fault !== undefined) throw failure(fault, path);
        return file.read(offset, length);
      },
      pwrite: async (offset, bytes) => {
        check(true);
        await this.#pwrite(path, file, offset, bytes);
      },
      pwriteSynced: async (offset, bytes) => {
        check(true);
        await this.#pwrite(path, file, offset, bytes);
        check(true);
        await this.#fdatasync(path, file, { from: offset, to: offset + bytes.length });
      },
      fdatasync: async () => {
        check(true);
        await this.#fdatasync(path, file);
      },
      truncate: async (size) => {
        check(true);
        await this.#operate('truncate', path, () => file.truncate(size));
      },
      close: async () => {
        open = false;
      },
    };
  }

  #pwrite(path: string, file: SimFile, offset: number, bytes: Uint8Array): Promise<void> {
    const pending = { file, offset, bytes };
    this.#pendingWrites.add(pending);
    const write = () => {
      const isBounded = this.#bytesMax < Number.POSITIVE_INFINITY;
      const growth = isBounded ? Math.max(0, offset + bytes.length - file.size) : 0;
      const room = growth === 0 ? 0 : Math.max(0, this.#bytesMax - this.usedBytes);
      const fits = growth > room ? bytes.length - (growth - room) : bytes.length;
      file.write(offset, bytes.subarray(0, Math.max(0, fits)));
      if (fits < bytes.length) throw failure('ENOSPC', path);
    };
    return this.#operate('pwrite', path, write, () => this.#pendingWrites.delete(pending));
  }

  #fdatasync(
    path: string,
    file: SimFile,
    range?: { readonly from: number; readonly to: number },
  ): Promise<void> {
    const sync = file.lastSync.then(async () => {
      const covered = file.beginSync(range);
      let failed = true;
      try {
        await this.#operate('fdatasync', path, () => {
          failed = false;
        });
      } finally {
        file.endSync(covered, failed);
      }
    });
    file.lastSync = sync.catch(() => {});
    return sync;
  }
}

function applyNames(names: Map<string, SimFile>, changes: readonly NameChange[]): void {
  for (const { path, file } of changes) {
    if (file === undefined) names.delete(path);
    else names.set(path, file);
  }
}

function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
  return a.path < b.path ? -1 : 1;
}

function directoryOf(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash <= 0 ? (slash === 0 ? '/' : '.') : path.slice(0, slash);
}

function failure(code: string, path: string): Error & { code: string } {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}
