/** A call of a client as it is remembered: what was asked, when, and what came of it. */
import type { Reply } from '../../src/datanode/resp/reply.ts';

export interface Call {
  readonly client: number;
  words: readonly string[];
  readonly invokedMs: number;
  /** Infinity: no answer, or one that does not tell what happened. */
  returnedMs: number;
  /** Undefined: the outcome is not known. */
  reply: Reply | undefined;
}

/** Keys that hold sets. */
export function isSet(key: string): boolean {
  return /^set\d$/.test(key);
}

export function textOf(reply: Reply | undefined): string {
  if (reply === undefined) return 'no answer';
  if (reply.kind === 'bulk') return reply.bytes.toString();
  if (reply.kind === 'integer') return String(reply.value);
  if (reply.kind === 'array') return `[${reply.items.map(textOf).join(', ')}]`;
  return reply.kind === 'error' || reply.kind === 'simple' ? reply.text : reply.kind;
}
