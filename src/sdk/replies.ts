/** From decoded replies to what callers get. Pure. */
import type { Nested, NestedBytes } from './command-types.ts';
import type { Reply } from './connection.ts';
import { ReplyError } from './errors.ts';

/** What a call resolves with: an item of a transaction may be an error. */
export type Value = Nested | NestedBytes | Readonly<Record<string, string | Buffer>> | ReplyError;

/** `name` in lower case; strings as UTF-8 texts unless `bytes`. */
export function decodeReply(name: string, reply: Reply, bytes: boolean): Value {
  const plain = bytes ? (reply as NestedBytes) : textsOf(reply);
  return name === 'hgetall' && Array.isArray(plain) ? recordOf(plain) : plain;
}

function textsOf(reply: Reply): Nested {
  if (Buffer.isBuffer(reply)) return reply.toString();
  if (Array.isArray(reply)) return (reply as readonly Reply[]).map(textsOf);
  return reply as Nested;
}

/** Field → value; a field may have any name. */
function recordOf(pairs: readonly (Nested | NestedBytes)[]) {
  const record = Object.create(null) as Record<string, string | Buffer>;
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    record[String(pairs[at])] = pairs[at + 1] as string | Buffer;
  }
  return record;
}

/** An error within a reply, as of a command of a transaction. */
export function errorIn(reply: Reply, partition: number | undefined): ReplyError | undefined {
  return reply instanceof Error ? new ReplyError(reply.message, { partition }) : undefined;
}
