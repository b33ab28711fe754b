import { KvorumError } from '../../common/errors.ts';

/**
 * More has been written over a state that is held than may be remembered, so its single keys cannot be
 * read any more; iterators of it go on. Who reads it begins anew, on a newer state.
 */
export class LostStateError extends KvorumError {
  constructor(path: string) {
    super('BUSY', `${path}: too much was written over the state that is read; ask again`);
  }
}
