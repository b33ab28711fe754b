/**
 * What every Network over real sockets keeps: order, ends, and memory that may be written over. Whoever
 * makes one runs these against it.
 */
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import type { ByteStream, Network } from '../../src/common/network.ts';
import { HELD_BYTES_MIN } from '../../src/datanode/server/client-memory.ts';

const host = '127.0.0.1';

export interface Contracted {
  readonly network: Network;
  /** A connection to it that somebody else made. */
  peer(port: number): Duplex | Promise<Duplex>;
}

/** `contracted` is asked anew by each test. */
export function keepsTheContract(contracted: () => Contracted): void {
  async function pair() {
    const { network } = contracted();
    let accept: (stream: ByteStream) => void = () => {};
    const accepted = new Promise<ByteStream>((resolve) => {
      accept = (stream) => {
        // Handlers must be attached in the turn the stream is handed out.
        stream.attach({ onData: (chunk) => stream.write(chunk), onClose: () => {} });
        resolve(stream);
      };
    });
    const listener = await network.listen({ host, port: 0 }, (stream) => accept(stream));
    const stream = await network.connect({ host, port: listener.port }, 5_000);
    return { listener, stream, accepted };
  }

  test('bytes come back in order, and the end is told once', async () => {
    const { listener, stream } = await pair();
    let text = '';
    let closes = 0;
    stream.attach({
      onData: (chunk) => {
        text += chunk.toString();
      },
      onClose: () => closes++,
    });
    for (let at = 0; at < 1_000; at++) stream.write(Buffer.from(`${at},`));
    await expect.poll(() => text.endsWith('999,')).toBe(true);
    expect(text.split(',')).toHaveLength(1_001);
    stream.end();
    await expect.poll(() => closes).toBe(1);
    await listener.close();
  });

  test('who ended its side still gets what it asked for, where that is wanted', async () => {
    const listener = await contracted().network.listen({ host, port: 0 }, (stream) => {
      let asked = '';
      stream.attach({
        onData: (chunk) => {
          asked += chunk.toString();
        },
        onEnd: () => {
          // the answer takes its time
          setTimeout(() => {
            stream.write(Buffer.from(`${asked} answered`));
            stream.end();
          }, 20);
        },
        onClose: () => {},
      });
    });
    const peer = await contracted().peer(listener.port);
    let text = '';
    peer.on('data', (chunk) => {
      text += chunk.toString();
    });
    peer.end('question');
    await once(peer, 'close');
    expect(text).toBe('question answered');
    await listener.close();
  });

  test('what the system has taken may be written over, and what it has not is kept', async () => {
    const { listener, stream } = await pair();
    let text = '';
    stream.attach({
      onData: (chunk) => {
        text += chunk.toString();
      },
      onClose: () => {},
    });
    // large ones are never taken as a whole at once by some networks, and small ones always by some
    const memories = { 1000: Buffer.alloc(1_000), 100000: Buffer.alloc(100_000) };
    let expected = '';
    let atOnce = 0;
    for (let at = 0; at < 200; at++) {
      const letter = String.fromCharCode(97 + (at % 26));
      const bytes = at % 4 === 0 ? 100_000 : 1_000;
      const memory = memories[bytes].fill(letter);
      expected += memory.toString();
      stream.write(memory);
      if (stream.bufferedBytes > 0) memories[bytes] = Buffer.alloc(bytes);
      else atOnce++;
      if (at % 8 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(atOnce).toBeGreaterThan(0);
    await expect.poll(() => text.length, { timeout: 10_000 }).toBe(expected.length);
    expect(text === expected).toBe(true);
    stream.destroy();
    await listener.close();
  });

  test('a peer that goes on sending after the end gets all that was sent, and is cut off', async () => {
    const all = 'x'.repeat(1_000_000);
    const listener = await contracted().network.listen({ host, port: 0 }, (stream) => {
      stream.attach({ onData: () => {}, onClose: () => {} });
      stream.write(Buffer.from(all));
      stream.end();
    });
    const peer = await contracted().peer(listener.port);
    let text = '';
    let broken = false;
    peer.on('data', (chunk) => {
      text += chunk.toString();
    });
    peer.on('error', () => {
      broken = true;
    });
    const sending = setInterval(() => peer.write('more'), 5);
    await expect.poll(() => broken, { timeout: 10_000 }).toBe(true);
    clearInterval(sending);
    expect(text.length).toBe(all.length);
    await listener.close();
  });

  test('a listener that closes ends its connections', async () => {
    const { listener, stream } = await pair();
    let closed = false;
    stream.attach({
      onData: () => {},
      onClose: () => {
        closed = true;
      },
    });
    await listener.close();
    await expect.poll(() => closed).toBe(true);
  });

  test('who takes nothing is counted, and told of when all is taken', async () => {
    const chunk = Buffer.alloc(HELD_BYTES_MIN + 4_000);
    let [told, accept] = [0, (_: ByteStream) => {}];
    const accepted = new Promise<ByteStream>((resolve) => {
      accept = resolve;
    });
    const listener = await contracted().network.listen({ host, port: 0 }, (stream) => {
      stream.attach({ onData: () => {}, onClose: () => {}, onDrain: () => told++ });
      accept(stream);
    });
    const peer = (await contracted().peer(listener.port)).pause();
    // by what it says first is known which kind of connection it is
    peer.write('x');
    const stream = await accepted;
    let asked = true;
    for (let writes = 0; writes < 2_000 && stream.bufferedBytes < 4_000_000; writes++) {
      asked = stream.write(chunk);
      if (writes % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(asked).toBe(false);
    expect(stream.bufferedBytes).toBeGreaterThanOrEqual(4_000_000);
    const before = told;
    peer.resume();
    await expect.poll(() => stream.bufferedBytes).toBe(0);
    await expect.poll(() => told).toBeGreaterThan(before);
    peer.destroy();
    await listener.close();
  });

  test('a pause stops what comes in, and what came is there when it ends', async () => {
    let [text, stream] = ['', undefined as ByteStream | undefined];
    const listener = await contracted().network.listen({ host, port: 0 }, (accepted) => {
      stream = accepted;
      accepted.attach({ onData: (chunk) => (text += chunk.toString()), onClose: () => {} });
      accepted.pause();
    });
    const peer = await contracted().peer(listener.port);
    peer.write('first,');
    await expect.poll(() => stream).toBeDefined();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(text).toBe('');
    peer.write('second,');
    stream!.resume();
    await expect.poll(() => text).toBe('first,second,');
    stream!.pause();
    await new Promise((resolve) => setTimeout(resolve, 10));
    peer.write('third');
    await new Promise((resolve) => setTimeout(resolve, 50));
    stream!.resume();
    await expect.poll(() => text).toBe('first,second,third');
    peer.destroy();
    await listener.close();
  });

  test('behind destroy nothing more comes, and the close is told once', async () => {
    let [closes, chunks] = [0, 0];
    const listener = await contracted().network.listen({ host, port: 0 }, (stream) => {
      stream.attach({
        onData: () => {
          chunks++;
          stream.destroy();
          stream.destroy(new Error('again'));
          expect(stream.write(Buffer.from('ignored'))).toBe(true);
        },
        onClose: () => closes++,
      });
    });
    const peer = await contracted().peer(listener.port);
    peer.on('error', () => {});
    let text = '';
    peer.on('data', (chunk) => {
      text += chunk.toString();
    });
    peer.on('end', () => peer.destroy());
    const closed = new Promise((resolve) => peer.once('close', resolve));
    for (let at = 0; at < 100; at++) peer.write(Buffer.alloc(10_000));
    await closed;
    await expect.poll(() => closes).toBe(1);
    expect([chunks, text]).toEqual([1, '']);
    await listener.close();
  });
}
