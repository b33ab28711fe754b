import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { PlainConnection, readReply } from '../../../src/cli/demo/plain-connection.ts';
import { readBack } from '../../../src/cli/demo/read-back.ts';

let server: Server | undefined;
const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  server?.close();
  server = undefined;
});

/** Answers each request as `answer` says, a byte at a time. */
async function peer(answer: (line: readonly string[]) => string): Promise<string> {
  server = createServer((socket) => {
    sockets.push(socket);
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      const words = chunk.toString().split('\r\n');
      const line = words.filter((_, at) => at > 0 && at % 2 === 0 && at < words.length - 1);
      for (const byte of Buffer.from(answer(line))) socket.write(Buffer.from([byte]));
      if (line[0] === 'QUIT') socket.end();
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return `127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
}

describe('a plain connection', () => {
  test('reads every kind of reply, however it is cut', async () => {
    const replies: [string, unknown][] = [
      ['+OK\r\n', 'OK'],
      [':42\r\n', 42],
      ['$5\r\na\r\nbc\r\n', 'a\r\nbc'],
      ['$0\r\n\r\n', ''],
      ['$-1\r\n', null],
      ['*-1\r\n', null],
      ['*0\r\n', []],
      ['*3\r\n$1\r\nx\r\n:1\r\n*1\r\n$2\r\né\r\n', ['x', 1, ['é']]],
    ];
    for (const [text, reply] of replies) {
      const bytes = Buffer.from(text);
      for (let cut = 0; cut < bytes.length; cut++) {
        expect(readReply(bytes.subarray(0, cut), 0), `${text} cut at ${cut}`).toBeUndefined();
      }
      expect(readReply(bytes, 0)).toEqual({ reply, end: bytes.length });
    }
    expect(() => readReply(Buffer.from('?what\r\n'), 0)).toThrow('no reply begins with');
  });

  test('asks one thing after the other; an error reply rejects, and only its own', async () => {
    const address = await peer(([name]) => (name === 'BAD' ? '-ERR so not\r\n' : `+${name}\r\n`));
    const connection = new PlainConnection(address);
    expect(await connection.ask('ONE', 'more')).toBe('ONE');
    await expect(connection.ask('BAD')).rejects.toThrow('ERR so not');
    expect(await connection.ask('TWO')).toBe('TWO');
    connection.close();
  });

  test('says so when nobody is there, or goes away', async () => {
    const gone = new PlainConnection(await peer(() => ''));
    await expect(gone.ask('QUIT')).rejects.toThrow('closed the connection');
    const nobody = new PlainConnection('127.0.0.1:1');
    await expect(nobody.ask('PING')).rejects.toThrow('ECONNREFUSED');
  });

  test('reads back texts and lists of more than one slice', async () => {
    const elements = Array.from({ length: 2_000 }, (_, at) => `$${String(at).length}\r\n${at}\r\n`);
    const address = await peer(([name, key, from]) => {
      if (name === 'GET') return key === 'none' ? '$-1\r\n' : '$1\r\n7\r\n';
      const slice = elements.slice(Number(from), Number(from) + 1_000);
      return `*${slice.length}\r\n${slice.join('')}`;
    });
    const told = (kind: 'counter' | 'list' | 'register', key: string) => {
      return { kind, key, acknowledged: [], unknown: [] };
    };
    const found = await readBack(address, [
      told('counter', 'c'),
      told('register', 'none'),
      told('list', 'l'),
    ]);
    expect(found.get('c')).toBe('7');
    expect(found.get('none')).toBe(null);
    expect(found.get('l')).toEqual(elements.map((_, at) => String(at)));
  });
});
