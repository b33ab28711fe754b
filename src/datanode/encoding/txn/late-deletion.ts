/**
 * One of so many deletions that their keys are made when somebody asks for them. A Buffer for each takes
 * as much memory as the changes themselves, on every replica, until all of them are written.
 */
export class LateDeletion {
  readonly type = 'del';
  /** The key as a latin1 string, which the change has anyway. */
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  get key(): Buffer {
    return Buffer.from(this.name, 'latin1');
  }
}
