/**
 * Nodes that are about to stop say so to the others before they hand over their leaders: nobody
 * hands leadership to them, or back to them, while they can still be reached. Frozen formats,
 * version 1, in the transport's request channel:
 *
 *   farewell  u8 0x4c · u8 version
 *   answer    u8 version · u8 1 when the node that answers is about to stop as well, or 0
 */
import { ByteReader, ByteWriter } from '../../../common/bytes.ts';
import { decodeFrame } from '../../../common/decode.ts';
import type { NodeId } from '../../../common/ids.ts';
import { requestTags } from '../../transport/request-tags.ts';
import type { Transport } from '../../transport/transport.ts';

const VERSION = 1;
/** A node that does not answer in this is not waited for. */
const ANSWER_MS = 200;

export function isFarewell(body: Buffer): boolean {
  return body[0] === requestTags.farewell;
}

export function encodeFarewell(): Buffer {
  return new ByteWriter(2).u8(requestTags.farewell).u8(VERSION).finish();
}

export class Departures {
  readonly #nodes = new Set<NodeId>();
  #ownIs = false;

  isLeaving(node: NodeId): boolean {
    return this.#nodes.has(node);
  }

  /** A peer says that it is about to stop. Throws KvorumError BAD_FRAME. */
  onFarewell(from: NodeId, body: Buffer): Buffer {
    decodeFrame('farewell', () => {
      const reader = new ByteReader(body, 1);
      reader.expectVersion(VERSION);
      reader.end();
    });
    this.#nodes.add(from);
    return new ByteWriter(2).u8(VERSION).u8(Number(this.#ownIs)).finish();
  }

  /** Its connection ended, or began: what it said before is over. */
  forget(node: NodeId): void {
    this.#nodes.delete(node);
  }

  /** This node is about to stop; resolves when the `peers` that can be reached know, or soon after. */
  async announce(transport: Pick<Transport, 'request'>, peers: readonly NodeId[]): Promise<void> {
    this.#ownIs = true;
    const body = encodeFarewell();
    await Promise.all(
      peers.map(async (peer) => {
        // one of an older build does not understand: then it may be offered leaders
        const answer = await transport.request(peer, body, ANSWER_MS).catch(() => undefined);
        if (answer?.[0] === VERSION && answer[1] === 1) this.#nodes.add(peer);
      }),
    );
  }
}
