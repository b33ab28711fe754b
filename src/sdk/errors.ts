/** What a call of the SDK is rejected with: one class, told apart by `code`. */

/**
 * The SDK's own codes. `retriable`: the command has had no effect and will have none, so the caller
 * may send it again.
 */
export const ownErrors = {
  /** An option of the client is wrong; the text names it. */
  BAD_OPTION: { retriable: false },
  /** A call's arguments cannot be sent; the text says why. */
  BAD_ARGUMENT: { retriable: false },
  /** The keys of a transaction, or of a watch, belong to several partitions. */
  CROSSSLOT: { retriable: false },
  /** The client was closed before the command was sent. */
  CLOSED: { retriable: true },
  /** The caller's signal aborted the command before it was sent, or it was a read. */
  ABORTED: { retriable: true },
  /** No answer within the time limit; the command was never carried out. */
  TIMEOUT: { retriable: true },
  /** Refused unproposed until the attempts or the time were used up; `cause` is the last refusal. */
  UNAVAILABLE: { retriable: true },
  /** A watched key was changed by others at every attempt; nothing of the transaction took effect. */
  CONFLICT: { retriable: true },
  /** More commands wait than the client may keep. */
  QUEUE_FULL: { retriable: true },
  /** A write may or may not have taken effect, once, now or later. */
  OUTCOME_UNKNOWN: { retriable: false },
  /** Of a write of several partitions a part took effect, and another has not and will not. */
  PARTIAL: { retriable: false },
  /** A write took effect once; its reply was too large, or too old, to be kept. */
  DONE: { retriable: false },
  /** No connection can be made that the server accepts: password, user, namespace. */
  REFUSED: { retriable: false },
} as const satisfies Record<string, { retriable: boolean }>;

/** A code of the SDK itself. */
export type OwnErrorCode = keyof typeof ownErrors;

export interface ErrorDetails {
  /** Number of the partition that the command was for; absent: none, or not known. */
  readonly partition?: number | undefined;
  readonly cause?: unknown;
}

/** Any failure of a call. Of an error reply `code` is its first word (`WRONGTYPE`, `ERR`, …). */
export class ClientError extends Error {
  override readonly name: string = 'ClientError';
  /** An `OwnErrorCode`, or the first word of the server's error reply. */
  readonly code: string;
  /** True: the command had no effect and will have none; the same call may be made again. */
  readonly retriable: boolean;
  /** Number of the partition within its namespace, from 0; undefined: none, or not known. */
  readonly partition: number | undefined;

  constructor(code: string, message: string, retriable: boolean, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.retriable = retriable;
    this.partition = details.partition;
  }
}

/** The server's own error reply to a command: sending it again changes nothing. */
export class ReplyError extends ClientError {
  override readonly name = 'ReplyError';

  /** `text`: the whole error reply, such as `WRONGTYPE Operation against a key …`. */
  constructor(text: string, details: ErrorDetails = {}) {
    super(/^[A-Z][A-Z_]*\b/.exec(text)?.[0] ?? 'ERR', text, false, details);
  }
}

/** An error of one of the SDK's own codes. */
export function ownError(code: OwnErrorCode, message: string, details?: ErrorDetails): ClientError {
  return new ClientError(code, message, ownErrors[code].retriable, details);
}

/** `cause` is what was met last; an earlier attempt may be why the outcome is not known. */
export function failureText(name: string, code: OwnErrorCode, cause: Error): string {
  if (code === 'DONE') return `${name} took effect once; its reply is not kept any more`;
  if (code === 'PARTIAL') return `${name} took effect in part: ${cause.message}`;
  const unknown = code === 'OUTCOME_UNKNOWN';
  return `${name}${unknown ? ' may have taken effect' : ' was not carried out'}: ${cause.message}`;
}
