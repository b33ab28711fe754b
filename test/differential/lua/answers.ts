/** An answer of EVAL as text, without what no two servers have alike. */
import { decodeReply } from '../../../src/datanode/resp/decode-reply.ts';
import type { Reply } from '../../../src/datanode/resp/reply.ts';

export function comparableAnswer(bytes: Buffer): string {
  return lines(decodeReply(bytes), '').join('\n');
}

function lines(reply: Reply, indent: string): string[] {
  switch (reply.kind) {
    case 'array':
      return [
        `${indent}array of ${reply.items.length}`,
        ...reply.items.flatMap((item) => lines(item, `${indent}  `)),
      ];
    case 'bulk':
      return [`${indent}bulk ${alike(reply.bytes.toString('latin1'))}`];
    case 'simple':
    case 'error':
      return [`${indent}${reply.kind} ${alike(reply.text)}`];
    case 'integer':
      return [`${indent}integer ${reply.value}`];
    default:
      return [`${indent}${JSON.stringify(reply)}`];
  }
}

/** Addresses, and the sign of what is no number, which a double of JavaScript does not tell. */
function alike(text: string): string {
  return text
    .replace(/\b(table|function|thread|userdata): (?:builtin: )?(?:0x)?[0-9a-f]+/g, '$1: address')
    .replace(/-nan/g, 'nan');
}
