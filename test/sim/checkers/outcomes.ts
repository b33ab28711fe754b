/**
 * No client of a gateway whose connection lives is ever told that nobody knows what became of its
 * command; who sends under a session is, for it can ask again.
 */
import type { Reply } from '../../../src/datanode/resp/reply.ts';
import { textOf } from '../call.ts';
import type { Word } from '../commands/draw.ts';
import { Violation } from './checker.ts';

export function checkOutcome(
  client: string,
  words: readonly Word[],
  reply: Reply | undefined,
): Violation | undefined {
  if (reply?.kind !== 'error' || !reply.text.startsWith('UNKNOWNOUTCOME')) return undefined;
  if (String(words[0]).toUpperCase() === 'KV.ONCE') return undefined;
  return new Violation('outcomes', `${client} is told of ${words.join(' ')}: ${textOf(reply)}`);
}
