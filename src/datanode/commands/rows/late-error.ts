/**
 * Arguments that Redis reads only once it has looked at the key: what is wrong with them is told
 * after WRONGTYPE, and for some commands not at all when there is no key.
 */
import type { Reply } from '../../resp/reply.ts';
import { ArgumentError } from './command.ts';

/** What `parse` returns, or the ArgumentError it throws. */
export function late<Parsed extends object | string>(parse: () => Parsed): Parsed | ArgumentError {
  try {
    return parse();
  } catch (failure) {
    if (!(failure instanceof ArgumentError)) throw failure;
    return failure;
  }
}

export function lateReply({ message }: ArgumentError): Reply {
  return { kind: 'error', text: message };
}
