/** What LevelDB and the disk below it complain of, in the words of the product. */
import { KvorumError, messageOf, systemCodeOf } from '../../common/errors.ts';

export async function guard<Result>(path: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw engineError(path, error);
  }
}

/** Of what is read when the engine is closed. */
const ended: ReadonlySet<string> = new Set([
  'LEVEL_DATABASE_NOT_OPEN',
  'LEVEL_ITERATOR_NOT_OPEN',
  'LEVEL_SNAPSHOT_NOT_OPEN',
]);

/** LevelDB's and the disk's errors as ours: the code says damage, disk fault or misuse. */
export function engineError(path: string, error: unknown): KvorumError {
  if (error instanceof KvorumError) return error;
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = systemCodeOf(cause) ?? systemCodeOf(error);
  const text = `${path}: ${messageOf(cause)}`;
  if (code === 'LEVEL_CORRUPTION') return new KvorumError('CORRUPT', text, { cause: error });
  if (code === 'LEVEL_LOCKED') {
    return new KvorumError('DISK_FAILED', `${text}; another process uses it`, { cause: error });
  }
  if (code !== undefined && ended.has(code)) {
    return new KvorumError('STOPPING', `${path}: the engine is closed`, { cause: error });
  }
  return new KvorumError('DISK_FAILED', text, { cause: error });
}
