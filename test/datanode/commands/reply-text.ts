/** Replies as text for transcripts: RESP2's view of them, one line per scalar. */
import { encodeReply, formatDouble } from '../../../src/datanode/resp/encode-reply.ts';
import type { Reply } from '../../../src/datanode/resp/reply.ts';

export function replyText(reply: Reply, indent = ''): string {
  switch (reply.kind) {
    case 'simple':
      return `${indent}${reply.text}`;
    case 'error':
      return `${indent}(error) ${reply.text}`;
    case 'integer':
      return `${indent}(integer) ${reply.value}`;
    case 'bulk':
      return `${indent}${JSON.stringify(reply.bytes.toString('latin1'))}`;
    case 'verbatim':
      return `${indent}${JSON.stringify(reply.text)}`;
    case 'null':
    case 'nullArray':
      return `${indent}(nil)`;
    case 'boolean':
      return `${indent}(integer) ${reply.value ? 1 : 0}`;
    case 'bigNumber':
      return `${indent}${JSON.stringify(String(reply.value))}`;
    case 'array':
    case 'set':
      return listText(reply.items, indent);
    case 'double':
      return `${indent}${JSON.stringify(reply.text ?? formatDouble(reply.value))}`;
    case 'map':
    case 'pairs':
      return listText(reply.pairs.flat(), indent);
    case 'rows':
    case 'packed':
      return replyText(decodeReply(encodeReply(reply, 2))!.reply, indent);
    default:
      throw new Error(`no text for ${reply.kind} replies`);
  }
}

/** The same with every array sorted: for replies whose order means nothing. */
export function sortedReplyText(reply: Reply): string {
  return replyText(sorted(reply));
}

function sorted(reply: Reply): Reply {
  if (reply.kind !== 'array' && reply.kind !== 'set') return reply;
  const items = reply.items.map(sorted);
  return { kind: 'array', items: items.sort((a, b) => (replyText(a) < replyText(b) ? -1 : 1)) };
}

function listText(items: readonly Reply[], indent: string): string {
  if (items.length === 0) return `${indent}(empty)`;
  return items.map((item) => `${indent}-\n${replyText(item, `${indent}  `)}`).join('\n');
}

/** RESP2 bytes as a Reply; undefined while they are incomplete. */
export function decodeReply(bytes: Buffer, at = 0): { reply: Reply; end: number } | undefined {
  const lineEnd = bytes.indexOf('\r\n', at);
  if (lineEnd < 0) return undefined;
  const line = bytes.toString('latin1', at + 1, lineEnd);
  const end = lineEnd + 2;
  switch (String.fromCharCode(bytes[at]!)) {
    case '+':
      return { reply: { kind: 'simple', text: line }, end };
    case '-':
      return { reply: { kind: 'error', text: line }, end };
    case ':':
      return { reply: { kind: 'integer', value: BigInt(line) }, end };
    case '$': {
      if (line === '-1') return { reply: { kind: 'null' }, end };
      const close = end + Number(line);
      if (bytes.length < close + 2) return undefined;
      return { reply: { kind: 'bulk', bytes: bytes.subarray(end, close) }, end: close + 2 };
    }
    case '*': {
      if (line === '-1') return { reply: { kind: 'nullArray' }, end };
      const items: Reply[] = [];
      let next = end;
      for (let left = Number(line); left > 0; left--) {
        const item = decodeReply(bytes, next);
        if (!item) return undefined;
        items.push(item.reply);
        next = item.end;
      }
      return { reply: { kind: 'array', items }, end: next };
    }
    default:
      throw new Error(`not RESP2: ${line}`);
  }
}
