/** The system's disk, on which writes stand still for as long as they are held, and may fail then. */
import type { Disk, DiskFile } from '../../../src/common/disk.ts';
import { fsDisk } from '../../../src/common/fs-disk.ts';

export class HeldDisk {
  /** Resolves at the first write after `hold`. */
  reached: Promise<void> = Promise.resolve();
  #gate: Promise<void> = Promise.resolve();
  #failure: Error | undefined;
  #reach = () => {};
  #open = () => {};

  readonly disk: Disk = new Proxy(fsDisk, {
    get: (target, name) => {
      if (name !== 'open') return memberOf(target, name);
      return async (...args: Parameters<Disk['open']>) => this.#held(await target.open(...args));
    },
  });

  hold(): void {
    this.reached = new Promise((resolve) => {
      this.#reach = resolve;
    });
    this.#gate = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  release(): void {
    this.#open();
  }

  /** What is written from now on fails. */
  fail(failure: Error): void {
    this.#failure = failure;
  }

  #held(file: DiskFile): DiskFile {
    return new Proxy(file, {
      get: (target, name) => {
        if (name !== 'pwrite') return memberOf(target, name);
        return async (...args: Parameters<DiskFile['pwrite']>) => {
          this.#reach();
          await this.#gate;
          if (this.#failure) throw this.#failure;
          await target.pwrite(...args);
        };
      },
    });
  }
}

function memberOf(target: object, name: string | symbol): unknown {
  const member: unknown = Reflect.get(target, name);
  return typeof member === 'function' ? member.bind(target) : member;
}
