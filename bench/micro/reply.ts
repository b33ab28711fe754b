/** Replies to the bytes of a socket, a write for each turn. */
import { ReplyWriter } from '../../src/datanode/resp/encode-reply.ts';
import { bulk, OK, type Reply } from '../../src/datanode/resp/reply.ts';
import { type Micro, TURN } from './micro.ts';

function replies(text: string, reply: Reply): Micro {
  return {
    text: `resp: encode ${text}, ${TURN} in a write`,
    async prepare() {
      const writer = new ReplyWriter();
      let bytes = 0;
      return (wanted) => {
        let done = 0;
        for (; done < wanted; done += TURN) {
          for (let at = 0; at < TURN; at++) writer.append(reply, 2);
          bytes += writer.take().length;
          writer.rewind();
        }
        if (bytes === 0) throw new Error('nothing was encoded');
        return done;
      };
    },
  };
}

export const encodeOk = replies('+OK', OK);
export const encodeBulk = replies('a value of 100 bytes', bulk(Buffer.alloc(100, 'v')));
