/** The errors of the raft log: each names the file, the place and what to do. */
import { diskRemedy } from '../../common/disk-remedy.ts';
import { KvorumError, messageOf } from '../../common/errors.ts';

/** Bytes that were durable are not what was written. */
export function damaged(path: string, offset: number, what: string): KvorumError {
  return new KvorumError(
    'CORRUPT',
    `${path}: damaged at offset ${offset}: ${what}. This node's replicas must not vote with a ` +
      `shortened log: restore the file, or empty the node's data directory so that its replicas ` +
      `are rebuilt from the others under new ids`,
  );
}

/** A file that a newer kvorum wrote. */
export function unknownVersion(path: string, offset: number, version: number): KvorumError {
  return new KvorumError(
    'TOO_NEW',
    `${path}: format version ${version} at offset ${offset} is unknown to this kvorum: start the ` +
      `version that wrote it, or empty the node's data directory to rebuild its replicas`,
  );
}

/** A write or sync failed: nothing after it may be acknowledged. */
export function diskFailed(path: string, doing: string, cause: unknown): KvorumError {
  return new KvorumError(
    'DISK_FAILED',
    `${path}: ${doing} failed (${messageOf(cause)}): no write is acknowledged any more; ` +
      `${diskRemedy(cause)}, then start this node again`,
    { cause },
  );
}
