/** A source whose link breaks, and what becomes of the stream: a Redis that answers as the tests say. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { Replication } from '../../../../src/cli/import/live/replication.ts';

const HISTORY = 'a'.repeat(40);
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type Answer = (words: readonly string[], socket: Socket) => string | undefined;

/** Greets, sends a picture of `pic`, and asks `again` about all that the links after the first one ask. */
async function source(again: Answer) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    const isFirst = sockets.push(socket) === 1;
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      for (const request of chunk.toString('latin1').split(/(?=\*\d+\r\n\$)/)) {
        const words = request.split('\r\n').filter((_, at) => at > 0 && at % 2 === 0);
        const usual = usually(words);
        const answer = isFirst ? usual : (again(words, socket) ?? usual);
        if (!socket.destroyed) socket.write(answer);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(() => server.close());
  ends.push(() => sockets.forEach((socket) => void socket.destroy()));
  const { port } = server.address() as AddressInfo;
  const told: string[] = [];
  const at = { hosts: [`127.0.0.1:${port}`], tls: false, username: undefined, password: 'p' };
  const replication = new Replication(at, (text) => told.push(text));
  ends.push(() => replication.remove());
  ends.push(() => replication.stop());
  await replication.start();
  expect(String(await replication.picture.read())).toBe('pic');
  return { replication, told, sockets };
}

function usually([word, ...rest]: readonly string[]): string {
  if (word === 'PSYNC') return `+FULLRESYNC ${HISTORY} 100\r\n$3\r\npic`;
  return word === 'REPLCONF' && rest[0] === 'ACK' ? '' : '+OK\r\n';
}

const goesOn: Answer = ([word, , offset]) =>
  word === 'PSYNC' ? `+CONTINUE\r\nfrom ${offset}` : undefined;

test('a stream whose link breaks goes on behind what had come', async () => {
  const { replication, told, sockets } = await source(goesOn);
  sockets[0]!.write('begins, ');
  expect(String(await replication.stream.read())).toBe('begins, ');
  sockets[0]!.destroy();
  expect(String(await replication.stream.read())).toBe('from 109');
  expect(told.at(-1)).toBe('the stream goes on where it was');
});

test('under the name that the source gives its history when it has another master', async () => {
  const promoted = 'b'.repeat(40);
  const asked: string[] = [];
  const { replication, sockets } = await source(([word, history, offset]) => {
    if (word !== 'PSYNC') return undefined;
    asked.push(history!);
    return `+CONTINUE ${promoted}\r\nfrom ${offset}`;
  });
  sockets[0]!.destroy();
  expect(String(await replication.stream.read())).toBe('from 101');
  sockets[1]!.destroy();
  expect(String(await replication.stream.read())).toBe('from 109');
  expect(asked).toEqual([HISTORY, promoted]);
});

test('the source is told of what has taken effect, not of what has come', async () => {
  const { replication, sockets } = await source(goesOn);
  const told: string[] = [];
  sockets[0]!.on('data', (chunk) => {
    const ack = /ACK\r\n\$\d+\r\n(\d+)/.exec(chunk.toString('latin1'));
    if (ack !== null) told.push(ack[1]!);
  });
  sockets[0]!.write('begins, ');
  expect(String(await replication.stream.read())).toBe('begins, ');
  told.length = 0;
  await expect.poll(() => told.length).toBeGreaterThan(0);
  replication.applied = 8;
  await expect.poll(() => told.at(-1)).toBe('108');
  expect(new Set(told)).toEqual(new Set(['100', '108']));
});

test.each([
  ['breaks before the source has said from where on it goes', undefined],
  ['comes to a source that loads its data', '-LOADING Redis is loading the dataset in memory\r\n'],
  ['comes to a source without its own master', "-NOMASTERLINK Can't SYNC while not connected\r\n"],
])('so does one whose next link %s', async (_, answer) => {
  let times = 0;
  const { replication, told, sockets } = await source((words, socket) => {
    if (words[0] !== 'PSYNC' || ++times > 1) return goesOn(words, socket);
    if (answer === undefined) socket.destroy();
    return answer ?? '';
  });
  sockets[0]!.destroy();
  expect(String(await replication.stream.read())).toBe('from 101');
  expect(told.filter((text) => text.startsWith('the source cannot be reached'))).toHaveLength(1);
});

test('a password that is wrong meanwhile ends it, as one that it cannot go on from does', async () => {
  const wrong = await source(([word]) => (word === 'AUTH' ? '-WRONGPASS invalid\r\n' : undefined));
  const lost = await source(() => undefined);
  for (const { sockets } of [wrong, lost]) sockets[0]!.destroy();
  await expect(wrong.replication.stream.read()).rejects.toThrow('AUTH with -WRONGPASS');
  await expect(lost.replication.stream.read()).rejects.toThrow('cannot go on where the link broke');
});

test('one that is stopped while the next link is made keeps no link', async () => {
  let asked = () => {};
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const { replication, told, sockets } = await source(([word], socket) => {
    if (word !== 'PSYNC') return undefined;
    asked();
    setTimeout(() => socket.write('+CONTINUE\r\n'), 100);
    return '';
  });
  sockets[0]!.destroy();
  await isAsked;
  await replication.stop();
  await expect.poll(() => sockets[1]?.destroyed).toBe(true);
  expect(told).toEqual([expect.stringContaining('the link to the source broke')]);
});
