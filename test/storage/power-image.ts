/**
 * What a disk may hold after power was lost at some moment of a history: everything synced, and of
 * the rest what chance kept. Names in a directory are kept in order, up to some point (file systems
 * journal them); written sectors of a file in any selection, or in order up to some point.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../../src/common/random.ts';
import type { FileOp, History } from './file-history.ts';

const SECTOR_BYTES = 512;

interface Span {
  readonly began: number;
  readonly ended: number;
}

type Change = Span & { readonly durable?: boolean } & (
    | { readonly offset: number; readonly bytes: Buffer }
    | { readonly size: number }
  );
type NameChange = Span & { readonly name: string; readonly node: FileNode | DirNode | undefined };

class FileNode {
  readonly changes: Change[] = [];
  readonly syncs: Span[] = [];
  /** As the process sees it. */
  size = 0;
}

class DirNode {
  readonly entries = new Map<string, FileNode | DirNode>();
  /** Each element is one atomic step. */
  readonly changes: (readonly NameChange[])[] = [];
  readonly syncs: Span[] = [];

  change(span: Span, ...steps: readonly { name: string; node: FileNode | DirNode | undefined }[]) {
    for (const { name, node } of steps) {
      if (node === undefined) this.entries.delete(name);
      else this.entries.set(name, node);
    }
    this.changes.push(steps.map((step) => ({ ...span, ...step })));
  }
}

export class PowerImages {
  readonly #root = new DirNode();
  readonly #dir: string;

  /** The history begins with what `before` holds, all of it on disk; with nothing if it is absent. */
  constructor(history: History, dir: string, before?: string) {
    this.#dir = dir;
    if (before !== undefined) readDir(this.#root, before);
    for (const op of history.files) this.#apply(op);
  }

  /** Writes what is left of the directory to `target`, power being lost at `moment`. */
  write(moment: number, random: Random, target: string): void {
    this.#writeDir(this.#root, moment, random, target);
  }

  #apply(op: FileOp): void {
    const { path, began, ended } = op;
    const span = { began, ended };
    if (op.kind === 'sync') {
      this.#find(path)?.syncs.push(span);
      return;
    }
    if (path === this.#dir) return;
    const { dir, name } = this.#place(path);
    const node = dir.entries.get(name);
    switch (op.kind) {
      case 'mkdir':
        dir.change(span, { name, node: new DirNode() });
        return;
      case 'remove':
        dir.change(span, { name, node: undefined });
        return;
      case 'rename': {
        const to = this.#place(op.to);
        if (to.dir !== dir) throw new Error(`${path} is renamed into another directory`);
        dir.change(span, { name, node: undefined }, { name: to.name, node: node! });
        return;
      }
      case 'create':
        if (node === undefined) dir.change(span, { name, node: new FileNode() });
        else if (op.truncates) truncate(node as FileNode, 0, span);
        return;
      case 'truncate':
        truncate(node as FileNode, op.size, span);
        return;
      case 'write': {
        if (!(node instanceof FileNode)) throw new Error(`a write to ${path}, which is no file`);
        const offset = op.offset ?? node.size;
        node.changes.push({ ...span, offset, bytes: op.bytes, durable: op.synced });
        node.size = Math.max(node.size, offset + op.bytes.length);
      }
    }
  }

  #find(path: string): FileNode | DirNode | undefined {
    if (path === this.#dir) return this.#root;
    const { dir, name } = this.#place(path);
    return dir.entries.get(name);
  }

  #place(path: string): { readonly dir: DirNode; readonly name: string } {
    const parts = path.slice(this.#dir.length + 1).split('/');
    const name = parts.pop()!;
    let dir = this.#root;
    for (const part of parts) {
      const next = dir.entries.get(part);
      if (!(next instanceof DirNode)) throw new Error(`${path}: ${part} is no directory`);
      dir = next;
    }
    return { dir, name };
  }

  #writeDir(dir: DirNode, moment: number, random: Random, target: string): void {
    mkdirSync(target, { recursive: true });
    const begun = dir.changes.filter(([first]) => first!.began < moment);
    const synced = begun.filter(([first]) => isSynced(first!, dir.syncs, moment)).length;
    const kept = synced + random.below(begun.length - synced + 1);
    const names = new Map<string, FileNode | DirNode>();
    for (const steps of begun.slice(0, kept)) {
      for (const { name, node } of steps) {
        if (node === undefined) names.delete(name);
        else names.set(name, node);
      }
    }
    for (const [name, node] of names) {
      if (node instanceof DirNode) this.#writeDir(node, moment, random, join(target, name));
      else writeFileSync(join(target, name), contentsOf(node, moment, random));
    }
  }
}

/** Everything there is, since before the first moment. */
function readDir(dir: DirNode, path: string): void {
  const span = { began: -2, ended: -2 };
  const sync = { began: -1, ended: -1 };
  dir.syncs.push(sync);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const node = entry.isDirectory() ? new DirNode() : new FileNode();
    dir.change(span, { name: entry.name, node });
    const below = join(path, entry.name);
    if (node instanceof DirNode) readDir(node, below);
    else {
      const bytes = readFileSync(below);
      node.changes.push({ ...span, offset: 0, bytes });
      node.size = bytes.length;
      node.syncs.push(sync);
    }
  }
}

function truncate(file: FileNode, size: number, span: Span): void {
  file.changes.push({ ...span, size });
  file.size = size;
}

function isSynced(
  { ended, durable = false }: Span & { readonly durable?: boolean },
  syncs: readonly Span[],
  moment: number,
): boolean {
  if (durable && ended <= moment) return true;
  return syncs.some((sync) => sync.began > ended && sync.ended <= moment);
}

function contentsOf(file: FileNode, moment: number, random: Random): Buffer {
  const begun = file.changes.filter(({ began }) => began < moment);
  const contents = new Contents(begun);
  const inOrder = random.below(2) === 0;
  const unsynced = begun.filter((change) => !isSynced(change, file.syncs, moment));
  const lastKept = unsynced[random.below(unsynced.length + 1)];
  // most of it, little of it, or half
  const keep = [0.9, 0.1, 0.5][random.below(3)]!;
  let dropping = false;
  for (const change of begun) {
    if (change === lastKept) dropping = true;
    if (isSynced(change, file.syncs, moment)) contents.apply(change);
    else if (inOrder) {
      if (!dropping) contents.apply(change);
    } else contents.applySome(change, () => random.float() < keep);
  }
  return contents.finish();
}

class Contents {
  readonly #bytes: Buffer;
  #size = 0;

  /** Room for all `changes` at once: hundreds of images are made, and growing cost half of each. */
  constructor(changes: readonly Change[]) {
    let end = 0;
    for (const change of changes) {
      end = Math.max(end, 'size' in change ? change.size : change.offset + change.bytes.length);
    }
    this.#bytes = Buffer.alloc(end);
  }

  apply(change: Change): void {
    this.applySome(change, () => true);
  }

  applySome(change: Change, keeps: () => boolean): void {
    if ('size' in change) {
      if (keeps()) this.#resize(change.size);
      return;
    }
    const { offset, bytes } = change;
    for (let at = 0; at < bytes.length; ) {
      const sectorEnd = (Math.floor((offset + at) / SECTOR_BYTES) + 1) * SECTOR_BYTES;
      const end = Math.min(bytes.length, sectorEnd - offset);
      if (keeps()) {
        if (offset + end > this.#size) this.#resize(offset + end);
        bytes.copy(this.#bytes, offset + at, at, end);
      }
      at = end;
    }
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }

  #resize(size: number): void {
    if (size < this.#size) this.#bytes.fill(0, size, this.#size);
    this.#size = size;
  }
}
