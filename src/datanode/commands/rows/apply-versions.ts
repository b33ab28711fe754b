/** Apply versions of entries (`partition/entries/envelope.ts`) that commands in them ask for. */
export const applyVersions = {
  /** Builds of any version carry it out. */
  plain: 1,
  /** DUMP and RESTORE know the deadlines of hash fields. */
  fieldDeadlines: 4,
  /** HSETEX and its relatives, SET IFEQ, DELEX and DIGEST of Redis 8; RESTORE-ASKING. */
  comparisons: 5,
  /** EVAL and SCRIPT: what the machine makes of a script, and what its commands may do. */
  scripts: 6,
  /** Streams: XADD and its relatives, and waits of XREADGROUP. */
  streams: 7,
  /** FUNCTION and FCALL. */
  functions: 8,
  /** XREAD from `+`; XSETID, and XREADGROUP whose key goes, as Redis 8 has them; EVAL_RO and unpack
   * as Redis 7. */
  laterRedis: 9,
  /** What Redis 8.2 and 8.4 have brought: MSETEX, BITOP DIFF and its like, XDELEX and XACKDEL, CLAIM of XREADGROUP. */
  redis84: 10,
  /** JSON documents: JSON.SET and its relatives, and what DUMP makes of one. */
  json: 10,
  /** `xpcall` calls handlers of errors as deep as Lua does. */
  deepHandlers: 10,
} as const;

/** Whether `laterRedis` holds: where no entry is applied, or one that is so new. */
export function isAsLaterRedis({ applyVersion }: { readonly applyVersion?: number }): boolean {
  return applyVersion === undefined || applyVersion >= applyVersions.laterRedis;
}

/** Whether `deepHandlers` holds, likewise. */
export function handlesDeep({ applyVersion }: { readonly applyVersion?: number }): boolean {
  return applyVersion === undefined || applyVersion >= applyVersions.deepHandlers;
}
