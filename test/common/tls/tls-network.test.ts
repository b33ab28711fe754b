import { connect as connectPlain, createServer, type Socket } from 'node:net';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { limits } from '../../../src/common/limits.ts';
import type { Logger } from '../../../src/common/log.ts';
import type { ByteStream, Listener } from '../../../src/common/network.ts';
import type { Credentials } from '../../../src/common/tls/credentials.ts';
import {
  newTlsCounts,
  type TlsCounts,
  TlsNetwork,
  type TlsNetworkOptions,
} from '../../../src/common/tls/tls-network.ts';
import { keepsTheContract } from '../network-contract.ts';
import { authority, issued, issuedToClient, newAuthority } from './made-certificates.ts';

const host = '127.0.0.1';
const trusted = { ca: authority.certificate };

function credentialsOf(pair = issued()): Credentials {
  const { certificate, key } = pair;
  return { certificate, key, authorities: authority.certificate, ends: [] };
}

let told: { text: string; reason?: string }[];
let counts: TlsCounts;
let listeners: Listener[];
let room: number;
const logger = {
  warn: (text: string, fields: object) => void told.push({ text, ...fields }),
} as Partial<Logger> as Logger;

beforeEach(() => {
  [told, counts, listeners, room] = [[], newTlsCounts(), [], 10_000];
});
afterEach(async () => {
  await Promise.all(listeners.map((listener) => listener.close()));
});

function networkOf(options: Partial<TlsNetworkOptions> = {}): TlsNetwork {
  return new TlsNetwork({
    credentials: { current: credentialsOf() },
    ...{ accepts: 'both', dials: 'tls', peerCertificates: 'ignore' },
    ...{ clock: systemClock, logger, counts, room: () => room },
    ...options,
  });
}

/** Answers what it is sent. */
async function echo(network: TlsNetwork): Promise<{ port: number; streams: ByteStream[] }> {
  const streams: ByteStream[] = [];
  const listener = await network.listen({ host, port: 0 }, (stream) => {
    streams.push(stream);
    stream.attach({ onData: (chunk) => stream.write(chunk), onClose: () => {} });
  });
  listeners.push(listener);
  return { port: listener.port, streams };
}

/** What a client hears that sends `text` at once; rejects when its handshake fails. */
function answered(port: number, text: string, options: ConnectionOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host, ...trusted, ...options });
    let heard = '';
    socket.on('data', (chunk) => {
      heard += chunk.toString();
      if (heard === text) socket.end();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(heard));
    socket.write(text);
  });
}

const dial = (port: number, options: ConnectionOptions = {}) =>
  connect({ port, host, ...trusted, allowHalfOpen: true, ...options } as ConnectionOptions);

describe.each<'both' | 'tls'>(['both', 'tls'])('TLS where %s is spoken', (accepts) =>
  keepsTheContract(() => ({ network: networkOf({ accepts }), peer: (port) => dial(port) })),
);

describe('plain connections where both are spoken', () =>
  keepsTheContract(() => ({
    network: networkOf({ dials: 'plain' }),
    peer: (port) => {
      const socket = connectPlain({ host, port, allowHalfOpen: true });
      // the contract's listeners speak to who has said nothing yet
      socket.write('');
      return socket;
    },
  })));

describe('one port', () => {
  test('takes both, and tells which is which', async () => {
    const { port, streams } = await echo(networkOf());
    expect(await answered(port, 'over TLS', {})).toBe('over TLS');
    const plain = connectPlain({ host, port });
    plain.write('plain');
    expect(await new Promise((resolve) => plain.once('data', (text) => resolve(`${text}`)))).toBe(
      'plain',
    );
    plain.destroy();
    const [first, second] = streams.map(({ secured }) => secured);
    expect(first).toMatchObject({ protocol: 'TLSv1.3', commonName: undefined });
    expect(first!.cipher).toMatch(/^TLS_/);
    expect(second).toBeUndefined();
    expect(counts).toEqual({ handshakes: 1, failures: 0, plainRefused: 0 });
  });

  test('refuses plain bytes with its words, where it speaks TLS alone', async () => {
    const plainRefusal = Buffer.from('-ERR speak TLS\r\n');
    const { port, streams } = await echo(networkOf({ accepts: 'tls', plainRefusal }));
    const plain = connectPlain({ host, port });
    let heard = '';
    plain.on('data', (chunk) => {
      heard += chunk.toString();
    });
    plain.write('PING\r\n');
    await new Promise((resolve) => plain.once('close', resolve));
    expect([heard, streams.length, counts.plainRefused]).toEqual(['-ERR speak TLS\r\n', 0, 1]);
    expect(told[0]).toMatchObject({ text: expect.stringContaining('plain connection') });
  });

  test('speaks TLS 1.2 and 1.3, and nothing older', async () => {
    const { port, streams } = await echo(networkOf());
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      await answered(port, 'x', { minVersion: version, maxVersion: version });
    }
    expect(streams.map(({ secured }) => secured?.protocol)).toEqual(['TLSv1.2', 'TLSv1.3']);
    const old = {
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    } as const;
    await expect(answered(port, 'x', old)).rejects.toThrow();
    await expect.poll(() => counts.failures).toBe(1);
    expect(told[0]!.reason).toMatch(/unsupported protocol/);
  });

  test('does not begin anew on a connection that had its handshake', async () => {
    const { port } = await echo(networkOf());
    const socket = dial(port, { maxVersion: 'TLSv1.2' });
    await new Promise((resolve) => socket.once('secureConnect', resolve));
    const failure = await new Promise((resolve) => {
      socket.on('error', resolve);
      socket.renegotiate({}, (error) => resolve(error));
    });
    expect(String(failure)).toMatch(/no renegotiation/i);
    socket.destroy();
  });

  test('gives new certificates to new connections, and lets the others be', async () => {
    const credentials = { current: credentialsOf() };
    const { port } = await echo(networkOf({ credentials }));
    const shownTo = (socket: TLSSocket) => socket.getPeerCertificate().subject.CN;
    const before = dial(port);
    await new Promise((resolve) => before.once('secureConnect', resolve));
    credentials.current = credentialsOf(issued({ name: 'renewed' }));
    const after = dial(port);
    await new Promise((resolve) => after.once('secureConnect', resolve));
    expect([shownTo(before), shownTo(after)]).toEqual(['n1', 'renewed']);
    before.write('still there');
    const heard = await new Promise((resolve) => before.once('data', (text) => resolve(`${text}`)));
    expect(heard).toBe('still there');
    before.destroy();
    after.destroy();
  });
});

describe('certificates of clients', () => {
  const certificateRefusal = (reason: string) => Buffer.from(`-ERR ${reason}\r\n`);
  const shown = ({ certificate, key }: { certificate: string; key: string }) => ({
    cert: certificate,
    key,
  });
  const foreign = shown(issuedToClient('eve', { by: newAuthority() }));
  const expired = shown(
    issuedToClient('ann', { nowMs: Date.now() - 3 * 86_400_000, days: 1, by: authority }),
  );
  const own = shown(issuedToClient('ann'));

  test.each([
    ['required', 'none', {}, /^-ERR it showed no certificate/],
    ['required', 'its own', own, /^hello$/],
    ['required', "another authority's", foreign, /^-ERR its certificate is not signed by/],
    ['required', 'one that has expired', expired, /^-ERR its certificate has expired/],
    ['optional', 'none', {}, /^hello$/],
    ['optional', 'its own', own, /^hello$/],
    ['optional', "another authority's", foreign, /^-ERR its certificate is not signed by/],
    ['ignore', "another authority's", foreign, /^hello$/],
  ] as const)('%s, and it shows %s', async (peerCertificates, _name, pair, text) => {
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      const { port, streams } = await echo(networkOf({ peerCertificates, certificateRefusal }));
      expect(await answered(port, 'hello', { ...pair, maxVersion })).toMatch(text);
      const isServed = text.source === '^hello$';
      expect(streams.length).toBe(isServed ? 1 : 0);
      const known = isServed && pair === own ? 'ann' : undefined;
      if (isServed) expect(streams[0]!.secured?.commonName).toBe(known);
    }
    expect(counts.failures).toBe(told.length);
  });
});

describe('who is dialed', () => {
  test.each([
    ['under another name', issued({ hosts: ['elsewhere'] }), /altnames|does not match/i],
    ['with a certificate of another authority', issued({ by: newAuthority() }), /is not signed by/],
  ])('%s is refused', async (_name, pair, text) => {
    const { port } = await echo(networkOf({ credentials: { current: credentialsOf(pair) } }));
    await expect(networkOf().connect({ host, port }, 5_000)).rejects.toThrow(text);
  });

  test('and says nothing is given up in time', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket));
    await new Promise<void>((resolve) => silent.listen(0, host, resolve));
    const { port } = silent.address() as { port: number };
    await expect(networkOf().connect({ host, port }, 100)).rejects.toThrow(
      `connect to 127.0.0.1:${port}: no answer within 100 ms`,
    );
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => silent.close(resolve));
  });
});

test('credentials that OpenSSL does not take end a dial, and nothing else', async () => {
  const unheard: unknown[] = [];
  const hear = (failure: unknown) => unheard.push(failure);
  process.on('uncaughtException', hear);
  const current = { certificate: 'none', key: 'none', authorities: undefined };
  const gone = await networkOf().listen({ host, port: 0 }, () => {});
  await gone.close();
  const dialed = networkOf({ credentials: { current } }).connect({ host, port: gone.port }, 5_000);
  await expect(dialed).rejects.toThrow(/no start line/);
  await new Promise((resolve) => setTimeout(resolve, 50));
  process.off('uncaughtException', hear);
  expect(unheard).toEqual([]);
});

test.each(['TLSv1.2', 'TLSv1.3'] as const)(
  'a session is resumed over %s where no certificate is checked, and nowhere else',
  async (maxVersion) => {
    const { certificate: cert, key } = issued();
    const reused: boolean[] = [];
    for (const peerCertificates of ['ignore', 'optional', 'required', 'process'] as const) {
      const { port } = await echo(networkOf({ peerCertificates }));
      const sessions: Buffer[] = [];
      for (const shown of [
        { cert, key },
        { cert, key },
      ]) {
        const session = sessions.at(-1);
        const socket = dial(port, { ...shown, maxVersion, ...(session && { session }) });
        socket.on('session', (one) => sessions.push(one));
        socket.write('x');
        await new Promise((resolve) => socket.once('data', resolve));
        if (session !== undefined) reused.push(socket.isSessionReused());
        socket.destroy();
      }
    }
    expect(reused).toContain(true);
    expect(reused.slice(1)).not.toContain(true);
  },
);

describe('strangers', () => {
  /** Passes what comes on to `port`, one byte at a time. */
  async function byteByByte(port: number): Promise<number> {
    const proxy = createServer((socket) => {
      const onward = connectPlain({ host, port, noDelay: true });
      let waiting = Buffer.alloc(0);
      socket.on('data', (chunk) => {
        waiting = Buffer.concat([waiting, chunk]);
      });
      const timer = setInterval(() => {
        if (waiting.length > 0) onward.write(waiting.subarray(0, 1));
        waiting = waiting.subarray(1);
      }, 1);
      onward.on('data', (chunk) => socket.write(chunk));
      for (const one of [socket, onward]) {
        one.on('error', () => {});
        one.on('close', () => {
          clearInterval(timer);
          socket.destroy();
          onward.destroy();
        });
      }
    });
    await new Promise<void>((resolve) => proxy.listen(0, host, resolve));
    listeners.push({ port: 0, close: async () => void proxy.close() });
    return (proxy.address() as { port: number }).port;
  }

  test('whose records come in single bytes are served', async () => {
    const { port } = await echo(networkOf());
    const text = 'x'.repeat(100);
    expect(await answered(await byteByByte(port), text, {})).toBe(text);
  });

  test('that vanish in the handshake leave nothing, and are told of', async () => {
    const network = networkOf();
    const { port, streams } = await echo(network);
    for (const first of [Buffer.of(0x16), Buffer.of(0x16, 3, 1, 2, 0, 1, 0)]) {
      const socket = connectPlain({ host, port });
      socket.write(first);
      await expect.poll(() => network.pending).toBe(1);
      socket.destroy();
      await expect.poll(() => network.pending).toBe(0);
    }
    const looks = connectPlain({ host, port });
    await expect.poll(() => network.pending).toBe(1);
    looks.end();
    await expect.poll(() => network.pending).toBe(0);
    expect([streams.length, counts.failures, told.length]).toEqual([0, 2, 2]);
    expect(told[0]).toMatchObject({ text: 'a TLS handshake failed' });
  });

  test('that are under way when the port closes go with it, and nothing is told', async () => {
    const network = networkOf();
    const listener = await network.listen({ host, port: 0 }, () => {});
    const begun = connectPlain({ host, port: listener.port });
    begun.on('error', () => {});
    begun.write(Buffer.of(0x16, 3, 1, 2, 0, 1, 0));
    const silent = connectPlain({ host, port: listener.port });
    silent.on('error', () => {});
    const gone = [begun, silent].map((one) => new Promise((resolve) => one.once('close', resolve)));
    await expect.poll(() => network.pending).toBe(2);
    // until the handshake has begun
    await new Promise((resolve) => setTimeout(resolve, 20));
    for (const one of [begun, silent]) one.resume();
    await listener.close();
    await Promise.all(gone);
    expect([network.pending, told, counts.failures]).toEqual([0, [], 0]);
  });

  test('that speak something else behind the first byte are refused with a reason', async () => {
    const { port } = await echo(networkOf());
    const socket = connectPlain({ host, port });
    socket.on('error', () => {});
    socket.resume();
    socket.write(Buffer.concat([Buffer.of(0x16), Buffer.from('*1\r\n$4\r\nPING\r\n')]));
    await new Promise((resolve) => socket.once('close', resolve));
    expect(told[0]!.reason).toBe('it speaks no TLS');
  });

  test('by the thousand, none of whom ends its handshake, keep nobody out', async () => {
    const network = networkOf();
    const { port } = await echo(network);
    const flood: Socket[] = [];
    for (let at = 0; at < 600; at++) {
      const socket = connectPlain({ host, port });
      socket.on('error', () => {});
      socket.write(Buffer.of(0x16, 3, 1, 2, 0, 1, 0));
      flood.push(socket);
    }
    // on a machine that takes long for 600 of them the first have made room by then
    const most = limits.tlsHandshakesMax;
    await expect.poll(() => network.pending).toBeGreaterThanOrEqual(most);
    expect(await answered(port, 'through', {})).toBe('through');
    room = 10;
    expect(await answered(port, 'with little room', {})).toBe('with little room');
    for (const socket of flood) socket.destroy();
    await expect.poll(() => network.pending).toBe(0);
  });
});
