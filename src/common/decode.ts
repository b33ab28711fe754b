/** Reading bytes that came from elsewhere: what does not decode is a clear error, never a guess. */
import { ByteRangeError } from './bytes.ts';
import { type ErrorCode, errorTable, KvorumError } from './errors.ts';

/** Runs `decode`; bytes that end early or say nonsense are KvorumError BAD_FRAME, named by `what`. */
export function decodeFrame<T>(what: string, decode: () => T): T {
  try {
    return decode();
  } catch (cause) {
    if (!(cause instanceof ByteRangeError)) throw cause;
    throw new KvorumError('BAD_FRAME', `${what}: ${cause.message}`, { cause });
  }
}

const CODE_CHARACTERS_SHOWN = 40;

/** An error's code as a peer wrote it; throws ByteRangeError for one that this build has not. */
export function decodeErrorCode(text: string): ErrorCode {
  if (Object.hasOwn(errorTable, text)) return text as ErrorCode;
  throw new ByteRangeError(`unknown error code ${text.slice(0, CODE_CHARACTERS_SHOWN)}`);
}
