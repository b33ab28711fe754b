/** Requests from the bytes of a socket. */
import { createRequestParser } from '../../src/datanode/resp/request-parser.ts';
import { type Micro, setCommand, TURN } from './micro.ts';

function wireOf(args: readonly Buffer[]): Buffer {
  const parts = args.flatMap((arg) => [
    Buffer.from(`$${arg.length}\r\n`),
    arg,
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([Buffer.from(`*${args.length}\r\n`), ...parts]);
}

export const parse: Micro = {
  text: `resp: parse SET with 100 bytes, ${TURN} in a chunk`,
  async prepare() {
    let parsed = 0;
    const parser = createRequestParser({
      onRequest: () => {
        parsed++;
      },
      onProtocolError: (text) => {
        throw new Error(text);
      },
    });
    const commands = Array.from({ length: TURN }, (_, at) => wireOf(setCommand(at)));
    const chunk = Buffer.concat(commands);
    return (wanted) => {
      parsed = 0;
      while (parsed < wanted) parser.feed(chunk);
      return parsed;
    };
  },
};
