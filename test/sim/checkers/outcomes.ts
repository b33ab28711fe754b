/**
 * No client of a gateway whose connection lives is ever told that nobody knows what became of its
 * command; who sends under a session is, for it can ask again. Nor does a gateway end a connection for
 * that within the time that clients here wait, unless all others have lost what they knew of entries.
 */
import type { Reply } from '../../../src/datanode/resp/reply.ts';
import { textOf } from '../call.ts';
import type { Word } from '../commands/draw.ts';
import { Violation } from './checker.ts';

/** What is wrong with it, if anything. */
export function unknownTold(words: readonly Word[], reply: Reply | undefined): string | undefined {
  if (reply?.kind !== 'error' || !reply.text.startsWith('UNKNOWNOUTCOME')) return undefined;
  if (String(words[0]).toUpperCase() === 'KV.ONCE') return undefined;
  return `a client is told of ${words.join(' ')}: ${textOf(reply)}`;
}

/** Throws Violation. */
export function checkOutcomes([first]: readonly string[]): void {
  if (first !== undefined) throw new Violation('outcomes', first);
}
