/** Reading bytes that came from elsewhere: what does not decode is a clear error, never a guess. */
import { ByteRangeError } from './bytes.ts';
import { KvorumError } from './errors.ts';

/** Runs `decode`; bytes that end early or say nonsense are KvorumError BAD_FRAME, named by `what`. */
export function decodeFrame<T>(what: string, decode: () => T): T {
  try {
    return decode();
  } catch (cause) {
    if (!(cause instanceof ByteRangeError)) throw cause;
    throw new KvorumError('BAD_FRAME', `${what}: ${cause.message}`, { cause });
  }
}
