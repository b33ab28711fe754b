/** A small disk of its own: an ext4 in a file, mounted where a node has its data. Needs root. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  closeSync,
  cpSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statfsSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { systemCodeOf } from '../../src/common/errors.ts';

/** Left for the file's own bookkeeping; taken byte by byte. */
const KEPT_BYTES = 1_024 * 1_024;
const FILLER = 'filler';
const ERRORS_MENDED = 1;

function run(command: string, ...args: string[]): string {
  return execFileSync(command, args, { stdio: ['ignore', 'pipe', 'pipe'] }).toString();
}

export class SmallDisk {
  readonly #root = mkdtempSync(join(tmpdir(), 'kvorum-disk-'));
  readonly #image = join(this.#root, 'image');
  #at: string | undefined;

  constructor(bytes: number) {
    writeFileSync(this.#image, '');
    truncateSync(this.#image, bytes);
    run('mkfs.ext4', '-q', '-F', '-m', '0', this.#image);
  }

  /** Takes over what is in `dir`. */
  mount(dir: string): void {
    const kept = join(this.#root, 'kept');
    cpSync(dir, kept, { recursive: true });
    rmSync(dir, { recursive: true });
    mkdirSync(dir);
    this.#mount(dir);
    for (const name of readdirSync(kept)) {
      cpSync(join(kept, name), join(dir, name), { recursive: true });
    }
    rmSync(kept, { recursive: true });
  }

  #mount(dir: string): void {
    run('mount', '-o', 'loop,errors=remount-ro', this.#image, dir);
    this.#at = dir;
  }

  /** Takes every free byte. */
  fill(): void {
    const path = join(this.#at!, FILLER);
    const { bavail, bsize } = statfsSync(this.#at!);
    run('fallocate', '-l', String(bavail * bsize - KEPT_BYTES), path);
    const file = openSync(path, 'a');
    for (const bytes of [4_096, 1]) {
      try {
        for (;;) writeSync(file, Buffer.alloc(bytes, 1));
      } catch (error) {
        if (systemCodeOf(error) !== 'ENOSPC') throw error;
      }
    }
    fsyncSync(file);
    closeSync(file);
  }

  makeRoom(): void {
    rmSync(join(this.#at!, FILLER));
  }

  /** As after an error of the medium: ext4 takes no further write. */
  breakIt(): void {
    const device = basename(run('findmnt', '-no', 'SOURCE', this.#at!).trim());
    writeFileSync(`/sys/fs/ext4/${device}/trigger_fs_error`, '1');
  }

  /** Nobody may have a file of it open. */
  mendIt(): void {
    const dir = this.#at!;
    run('umount', dir);
    this.#at = undefined;
    const { status } = spawnSync('e2fsck', ['-p', '-f', this.#image]);
    if (status !== 0 && status !== ERRORS_MENDED) throw new Error(`e2fsck ended with ${status}`);
    this.#mount(dir);
  }

  destroy(): void {
    if (this.#at !== undefined) run('umount', this.#at);
    rmSync(this.#root, { recursive: true, force: true });
  }
}

/** Why there can be no such disk here, or undefined. */
export function noSmallDisks(): string | undefined {
  if (process.getuid?.() !== 0) return 'mounting a disk needs root';
  try {
    const disk = new SmallDisk(4 * KEPT_BYTES);
    const dir = mkdtempSync(join(tmpdir(), 'kvorum-mount-'));
    try {
      disk.mount(dir);
    } finally {
      disk.destroy();
      rmSync(dir, { recursive: true, force: true });
    }
    return undefined;
  } catch (error) {
    return `a disk cannot be mounted here: ${String(error).split('\n')[0]}`;
  }
}
