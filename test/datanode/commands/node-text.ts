/** A node command's reply as the RESP2 text a client gets. */
import { encodeReply } from '../../../src/datanode/resp/encode-reply.ts';
import type { FakeNode } from './fake-node.ts';

/** Words are split at spaces; `''` stands for an empty word. */
export async function ask(node: FakeNode, line: string): Promise<string> {
  const words = line.split(' ').map((word) => (word === "''" ? '' : word));
  return encodeReply(await node.call(...words), node.session.protocol).toString('latin1');
}
