/**
 * The one table of errors that cross a room. `outcome` is what the caller may conclude:
 * `not-proposed` – nothing happened and nothing will, so the request may be sent again;
 * `unknown` – the request may take effect once, now or later: only reads are sent again;
 * `refused` – the request itself is wrong or not allowed: sending it again changes nothing;
 * `fault` – this process or its disk is broken; the text names the remedy.
 */
export const errorTable = {
  NOT_LEADER: { outcome: 'not-proposed', reply: 'CLUSTERDOWN' },
  NO_LEADER: { outcome: 'not-proposed', reply: 'CLUSTERDOWN' },
  TERM_CHANGED: { outcome: 'not-proposed', reply: 'CLUSTERDOWN' },
  REPLICA_GONE: { outcome: 'not-proposed', reply: 'CLUSTERDOWN' },
  NO_PARTITION: { outcome: 'not-proposed', reply: 'CLUSTERDOWN' },
  BUSY: { outcome: 'not-proposed', reply: 'TRYAGAIN' },
  STOPPING: { outcome: 'not-proposed', reply: 'CLUSTERDOWN' },
  PEER_UNREACHABLE: { outcome: 'not-proposed', reply: 'CLUSTERDOWN' },
  CANCELLED: { outcome: 'not-proposed', reply: 'ERR' },
  /** The session of a forwarded batch is not known: it was not carried out. */
  SESSION_LOST: { outcome: 'refused', reply: 'SESSIONLOST' },
  /** It fits no entry of the log, or no frame between nodes: it was neither proposed nor sent. */
  TOO_LARGE: { outcome: 'refused', reply: 'ERR' },
  OUTCOME_UNKNOWN: { outcome: 'unknown', reply: 'UNKNOWNOUTCOME' },
  DEADLINE: { outcome: 'unknown', reply: 'UNKNOWNOUTCOME' },
  CONNECTION_LOST: { outcome: 'unknown', reply: 'UNKNOWNOUTCOME' },
  BAD_FRAME: { outcome: 'fault', reply: 'ERR' },
  BAD_CONFIG: { outcome: 'fault', reply: 'ERR' },
  /** A metadata record that cannot be read: the text says what to do about it. */
  BAD_RECORD: { outcome: 'fault', reply: 'ERR' },
  CORRUPT: { outcome: 'fault', reply: 'MISCONF' },
  /** A newer build wrote it, and can read it: nothing is damaged, and nothing may be made of it here. */
  TOO_NEW: { outcome: 'fault', reply: 'MISCONF' },
  /** A defect of kvorum: the text says where; a restart may help. */
  INTERNAL: { outcome: 'fault', reply: 'ERR' },
  DISK_FAILED: { outcome: 'fault', reply: 'MISCONF' },
  STORE_UNAVAILABLE: { outcome: 'fault', reply: 'ERR' },
  STORE_REPLACED: { outcome: 'fault', reply: 'ERR' },
  STORE_LIMIT: { outcome: 'refused', reply: 'ERR' },
  LEASE_LOST: { outcome: 'fault', reply: 'ERR' },
  CONFLICT: { outcome: 'refused', reply: 'ERR' },
  /** What an operator asked for does not exist. */
  NOT_FOUND: { outcome: 'refused', reply: 'ERR' },
  /** An argument of an operator's request is wrong; the text names it. */
  BAD_ARGUMENT: { outcome: 'refused', reply: 'ERR' },
} as const satisfies Record<string, { outcome: Outcome; reply: string }>;

export type Outcome = 'not-proposed' | 'unknown' | 'refused' | 'fault';
export type ErrorCode = keyof typeof errorTable;

export class KvorumError extends Error {
  override readonly name = 'KvorumError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The error code of anything thrown, or undefined when it is not one of ours. */
export function codeOf(error: unknown): ErrorCode | undefined {
  return error instanceof KvorumError ? error.code : undefined;
}

/** The system's code (ENOENT, EADDRINUSE, …) of anything thrown. */
export function systemCodeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** What this process may not read or write, and what lies in the place of a file or directory. */
const unusableCodes: ReadonlySet<string | undefined> = new Set([
  'EACCES',
  'EPERM',
  'EROFS',
  'EISDIR',
  'ENOTDIR',
  'EEXIST',
]);

/** Whether a file failed by its rights or its kind: no damage, and somebody has to mend it. */
export function isUnusable(failure: unknown): boolean {
  return unusableCodes.has(systemCodeOf(failure));
}

/** The system's codes for a disk that is full, broken or read-only. */
const diskCodes = new Set([
  'ENOSPC',
  'EDQUOT',
  'EFBIG',
  'EIO',
  'EROFS',
  'EMFILE',
  'ENFILE',
  'EACCES',
  'EPERM',
]);

/** Anything thrown as one of ours: as it is, as the disk's failure, or as a defect of kvorum. */
export function faultOf(error: unknown, where: string): KvorumError {
  if (error instanceof KvorumError) return error;
  const code = diskCodes.has(systemCodeOf(error) ?? '') ? 'DISK_FAILED' : 'INTERNAL';
  return new KvorumError(code, `${where}: ${messageOf(error)}`, { cause: error });
}

/** The text of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
