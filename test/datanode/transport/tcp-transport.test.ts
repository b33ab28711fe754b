import { connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import type { PeerMessage } from '../../../src/datanode/raft/message.ts';
import {
  channels,
  FrameDecoder,
  FrameWriter,
  streamKinds,
} from '../../../src/datanode/transport/frame.ts';
import {
  decodeGreeting,
  encodeHello,
  encodeWelcome,
  PROTOCOL_VERSION,
} from '../../../src/datanode/transport/handshake.ts';
import { encodeMessage } from '../../../src/datanode/transport/message-codec.ts';
import { everyMessage } from './messages.ts';
import { allReachable, eventually, introduce, startNode, type TestNode } from './nodes.ts';

const nodes: TestNode[] = [];

async function start(...args: Parameters<typeof startNode>): Promise<TestNode> {
  const node = await startNode(...args);
  nodes.push(node);
  return node;
}

async function pair(options: Parameters<typeof startNode>[1] = {}): Promise<[TestNode, TestNode]> {
  const a = await start('a', options);
  const b = await start('b', options);
  introduce(a, b);
  await eventually('a and b connect', () => allReachable(a, b));
  return [a, b];
}

afterEach(async () => {
  for (const node of nodes.splice(0)) await node.transport.close();
});

function heartbeat(n: number): PeerMessage {
  return { type: 'heartbeat', from: 1, to: 2, term: 3, commit: n, readContext: 0 };
}

function contexts(node: TestNode): number[] {
  return node.received.map(({ message }) => (message.type === 'heartbeat' ? message.commit : -1));
}

test('a port that is taken is told by its field', async () => {
  const a = await start('a');
  await expect(start('b', { port: a.transport.port })).rejects.toMatchObject({
    code: 'BAD_CONFIG',
    message: expect.stringContaining('or change ports.transport in the configuration'),
  });
});

describe('messages', () => {
  test('every type of message arrives as it was sent, both ways', async () => {
    const [a, b] = await pair();
    await eventually('bulk', () => {
      a.transport.send('b', 1, everyMessage.find((m) => m.type === 'snapshot')!);
      return b.received.length > 0;
    });
    b.received.length = 0;
    for (const message of everyMessage) {
      a.transport.send('b', 7, message);
      b.transport.send('a', 8, message);
    }
    for (const [node, from, group] of [
      [b, 'a', 7],
      [a, 'b', 8],
    ] as const) {
      await eventually('all arrive', () => node.received.length >= everyMessage.length);
      const got = node.received.filter((m) => m.group === group);
      expect(got.map((m) => m.from)).toEqual(everyMessage.map(() => from));
      for (const message of everyMessage) {
        expect(got.map((m) => m.message)).toContainEqual(message);
      }
    }
  });

  test('small messages arrive in the order sent', async () => {
    const [a, b] = await pair();
    for (let turn = 0; turn < 20; turn++) {
      for (let i = 0; i < 50; i++) a.transport.send('b', 1, heartbeat(turn * 50 + i));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await eventually('all arrive', () => b.received.length === 1_000);
    expect(contexts(b)).toEqual(Array.from({ length: 1_000 }, (_, i) => i));
  });

  test('the messages of one turn arrive in one frame', async () => {
    const [a, b] = await pair();
    const frames: number[] = [];
    b.handlers.onMessages = (_, messages) => frames.push(messages.length);
    for (let i = 0; i < 200; i++) a.transport.send('b', i, heartbeat(i));
    await eventually('they arrive', () => frames.length > 0);
    expect(frames).toEqual([200]);
  });
});

test('of two processes that are one node the one at its address keeps its links', async () => {
  const a = await start('a');
  const node = await start('b', { bootId: 'one' });
  introduce(a, node);
  await eventually('both connect', () => allReachable(a, node));
  const twin = await start('b', { bootId: 'two' });
  twin.transport.setPeers(new Map([['a', a.address]]));
  const why = () => twin.warnings.map(({ fields }) => `${fields['kind']}: ${fields['reason']}`);
  await eventually('the other is refused', () => why().length >= 2);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const text = 'refused: b runs as another process, at the address that a knows: two processes on ';
  expect(
    why()
      .map((reason) => reason.replace(text, '…'))
      .sort(),
  ).toEqual(
    ['bulk', 'small'].map(
      (kind) =>
        `${kind}: …copies of one data directory; stop the one that is not the node, and remove its copy`,
    ),
  );
  expect(twin.events).toEqual([]);
  expect(node.events).toEqual(['a up']);
  expect(a.events).toEqual(['b up']);
  // once the node is gone whoever comes in its name is let in
  await node.transport.close();
  await eventually('the other is taken for it', () => twin.transport.isReachable('a'));
});

test('two processes that take their node’s links from each other log that once', async () => {
  const a = await start('a');
  const twins = [await start('b', { bootId: 'one' }), await start('b', { bootId: 'two' })];
  const gone = await start('b');
  await gone.transport.close();
  a.transport.setPeers(new Map([['b', gone.address]])); // so a cannot tell which is the node
  for (const twin of twins) twin.transport.setPeers(new Map([['a', a.address]]));
  const ups = () => twins[0]!.events.filter((event) => event === 'a up').length;
  await eventually('they come and go', () => ups() >= 10);
  const told = twins[0]!.warnings.map(({ fields }) => `${fields['kind']}: ${fields['reason']}`);
  expect(told.length).toBeGreaterThan(0);
  expect(told).toEqual([...new Set(told)]);
});

describe('the handshake', () => {
  const reasons = (node: TestNode) => node.warnings.map(({ fields }) => String(fields['reason']));

  /** Waits until a, which dials b, logs why: once per connection, however often it tries. */
  async function expectRefusal(
    why: RegExp,
    other: Parameters<typeof startNode>[1],
    expected: Partial<TestNode['address']>,
  ) {
    const a = await start('a');
    const b = await start('b', other);
    a.transport.setPeers(new Map([['b', { ...b.address, ...expected }]]));
    b.transport.setPeers(new Map([['a', a.address]]));
    const matching = () => reasons(a).filter((reason) => why.test(reason));
    await eventually('a is refused', () => matching().length > 0);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(a.transport.isReachable('b')).toBe(false);
    expect(a.events).toEqual([]);
    expect(matching().length).toBeLessThanOrEqual(2);
  }

  test('refuses another cluster', async () => {
    await expectRefusal(/belongs to cluster other/, { clusterId: 'other' }, {});
  });

  test('refuses another incarnation than the dialer expects', async () => {
    const why = /b is incarnation new, not old/;
    await expectRefusal(why, { incarnation: 'new' }, { incarnation: 'old' });
  });

  test('refuses when the address leads to another node', async () => {
    const a = await start('a');
    const c = await start('c');
    a.transport.setPeers(new Map([['b', { ...c.address, incarnation: 'inc-b' }]]));
    await eventually('a is refused', () => a.warnings.length > 0);
    expect(String(a.warnings[0]!.fields['reason'])).toMatch(/this is c, not b/);
  });

  test('refuses a dialer whose incarnation is not the known one, until the table says so', async () => {
    const a = await start('a');
    const b = await start('b');
    a.transport.setPeers(new Map([['b', b.address]]));
    b.transport.setPeers(new Map([['a', { ...a.address, incarnation: 'older' }]]));
    const why = /knows a as incarnation older/;
    await eventually('a is refused', () => reasons(a).some((reason) => why.test(reason)));
    introduce(a, b);
    await eventually('both connect', () => allReachable(a, b));
  });

  test('tells the boot of a peer, and its clock', async () => {
    const a = await start('a');
    const b = await start('b', { bootId: 'second-boot' });
    const boots: (string | undefined)[] = [];
    a.handlers.onPeer = (_, up, bootId) => boots.push(up ? bootId : 'down');
    introduce(a, b);
    // a first reading that a standstill made wrong is not the last
    await eventually('the clock of b', () => {
      const wallMs = a.transport.peerWallMs('b');
      return wallMs !== undefined && Math.abs(wallMs - Date.now()) < 100;
    });
    expect(boots).toEqual(['second-boot']);
  });
});

test('a peer’s clock is known one round trip after the handshake, and when the peer is gone', async () => {
  const slow = { keepaliveMs: 60_000, silenceMs: 240_000 };
  const a = await start('a', { settings: slow });
  const b = await start('b', { settings: slow });
  introduce(a, b);
  await eventually('the clock of b', () => a.transport.peerWallMs('b') !== undefined);
  await b.transport.close();
  await eventually('a sees it', () => !a.transport.isReachable('b'));
  expect(a.transport.peerWallMs('b')).toBeGreaterThan(Date.now() - 5_000);
});

describe('connections', () => {
  test('are made again when a peer comes back, and traffic goes on', async () => {
    const [a, b] = await pair();
    await b.transport.close();
    await eventually('a sees it', () => !a.transport.isReachable('b'));
    a.transport.send('b', 1, heartbeat(1)); // dropped
    const again = await start('b', { port: b.address.port, bootId: 'again' });
    introduce(a, again);
    await eventually('both connect', () => allReachable(a, again));
    expect(a.events).toEqual(['b up', 'b down', 'b up']);
    a.transport.send('b', 1, heartbeat(2));
    await eventually('it arrives', () => again.received.length > 0);
    expect(contexts(again)).toEqual([2]);
  });

  test('to nodes that are peers no more are closed', async () => {
    const [a, b] = await pair();
    a.transport.setPeers(new Map());
    await eventually('b sees it', () => !b.transport.isReachable('a'));
    expect(a.events).toEqual(['b up', 'b down']);
    await expect(a.transport.request('b', Buffer.alloc(1), 100)).rejects.toMatchObject({
      code: 'PEER_UNREACHABLE',
    });
  });

  test('a newer one replaces the older: nothing of the older is handled any more', async () => {
    const b = await start('b');
    b.transport.setPeers(new Map([['x', { host: '127.0.0.1', port: 1, incarnation: 'inc-x' }]]));
    const older = await dialRaw(b, 5);
    older.write(beats(1));
    await eventually('the first arrives', () => b.received.length === 1);
    const newer = await dialRaw(b, 6);
    older.write(beats(2));
    newer.write(beats(3));
    await eventually('the newer one delivers', () => b.received.length >= 2);
    await eventually('the older one is closed', () => older.destroyed);
    expect(contexts(b)).toEqual([1, 3]);
    const late = await dialRaw(b, 4, 'refused');
    newer.write(beats(4));
    await eventually('the newer one lives on', () => b.received.length === 3);
    await eventually('the late one is closed', () => late.destroyed);
    newer.destroy();
  });

  test('a peer that sends chunks of a snapshot before it may is refused', async () => {
    const b = await start('b');
    b.transport.setPeers(new Map([['x', { host: '127.0.0.1', port: 1, incarnation: 'inc-x' }]]));
    let served = 0;
    b.handlers.onStream = async (_from, _header, chunks) => {
      served++;
      for await (const _ of chunks) await new Promise((resolve) => setTimeout(resolve, 10));
    };
    const socket = await dialRaw(b, 1, 'welcome', 'bulk');
    const streamFrame = (kind: number, id: number) => {
      const w = new FrameWriter().begin(channels.stream).u8(kind).varint(id);
      w.end();
      return w.take();
    };
    for (const id of [1, 2, 3]) socket.write(streamFrame(streamKinds.open, id));
    await eventually('both slots are taken', () => served === 2);
    let refusal = '';
    socket.on('data', (chunk) => {
      refusal += chunk.toString('latin1');
    });
    for (let count = 0; count < 8; count++) socket.write(streamFrame(streamKinds.chunk, 1));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(socket.destroyed).toBe(false);
    socket.write(streamFrame(streamKinds.chunk, 3));
    await eventually('it is closed', () => socket.destroyed);
    expect(refusal).toContain('stream 3: more chunks than credit');
  });

  test('bad bytes close their connection with a reason; the node lives on', async () => {
    const [a, b] = await pair();
    for (const bytes of [Buffer.from('*1\r\n$4\r\nPING\r\n'), Buffer.alloc(5_000, 0xff)]) {
      const socket = connect(b.address.port, '127.0.0.1');
      let answer = '';
      socket.on('data', (chunk) => {
        answer += chunk.toString('latin1');
      });
      socket.on('error', () => {});
      socket.write(bytes);
      await eventually('it is closed', () => socket.destroyed);
      if (bytes.length < 100) expect(answer).toMatch(/not a kvorum frame/);
    }
    a.transport.send('b', 1, heartbeat(1));
    await eventually('it arrives', () => b.received.length > 0);
  });

  test('a peer that says nothing any more is unreachable after the silence', async () => {
    const sockets: Socket[] = [];
    const mute = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => {});
      const w = new FrameWriter();
      encodeWelcome(w, { clusterId: 'cluster', node: 'm', incarnation: 'inc-m', bootId: 'm' });
      socket.write(w.take());
      socket.resume();
    });
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    const { port } = mute.address() as { port: number };
    const a = await start('a', { settings: { keepaliveMs: 20, silenceMs: 100 } });
    a.transport.setPeers(new Map([['m', { host: '127.0.0.1', port, incarnation: 'inc-m' }]]));
    await eventually('up, then down', () => a.events.includes('m down'));
    expect(a.events.slice(0, 2)).toEqual(['m up', 'm down']);
    await a.transport.close();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => mute.close(resolve));
  });

  test('what is asked in few bytes leaves with the messages of its turn, the rest in bulk', async () => {
    const came: Record<string, number[]> = { small: [], bulk: [] };
    const sockets: Socket[] = [];
    const peer = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => {});
      let kind: string | undefined;
      const decoder = new FrameDecoder();
      socket.on('data', (chunk) =>
        decoder.push(chunk, (channel, body) => {
          if (kind !== undefined) return void (channel > 0 && came[kind]!.push(channel));
          const greeting = decodeGreeting(channel, body);
          kind = greeting.kind === 'hello' ? greeting.hello.kind : '?';
          const w = new FrameWriter();
          encodeWelcome(w, { clusterId: 'cluster', node: 'm', incarnation: 'inc-m', bootId: 'm' });
          socket.write(w.take());
        }),
      );
    });
    await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve));
    const { port } = peer.address() as { port: number };
    // the peer says nothing by itself
    const a = await start('a', { settings: { silenceMs: 60_000 } });
    a.transport.setPeers(new Map([['m', { host: '127.0.0.1', port, incarnation: 'inc-m' }]]));
    // nothing can be posted before the connection for bulk is up
    const isUp = () => a.events.includes('m up') && a.transport.post('m', Buffer.from('news'));
    await eventually('both up', isUp);
    const asked = [1, limits.frameSmallBytesMax + 1].map((bytes) =>
      a.transport.request('m', Buffer.alloc(bytes), 60_000).catch(({ code }) => code),
    );
    a.transport.send('m', 1, heartbeat(1));
    await eventually('all came', () => came['small']!.length === 2 && came['bulk']!.length === 2);
    expect(came['small']).toEqual([channels.raft, channels.request]);
    expect(new Set(came['bulk'])).toEqual(new Set([channels.request, channels.pubsub]));
    for (const socket of sockets) socket.destroy();
    expect(await Promise.all(asked)).toEqual(['CONNECTION_LOST', 'CONNECTION_LOST']);
    await a.transport.close();
    await new Promise((resolve) => peer.close(resolve));
  });

  test('what is asked holds up no raft message, however much has no answer', async () => {
    const settings = { queueBytesMax: 200_000, smallRequestBytesMax: 80_000 };
    const [a, b] = await pair({ settings });
    let asked = 0;
    b.handlers.onRequest = () => {
      asked++;
      return new Promise(() => {});
    };
    const unanswered: Promise<unknown>[] = [];
    for (let at = 1; at <= 4; at++) {
      const one = a.transport.request('b', Buffer.alloc(40_000), 60_000);
      unanswered.push(one.catch(({ code }) => code));
      await eventually(`${at} there`, () => asked === at);
    }
    a.transport.send('b', 1, heartbeat(7));
    await eventually('the message came', () => contexts(b).includes(7), 5_000);
    await a.transport.close();
    expect(new Set(await Promise.all(unanswered))).toEqual(new Set(['CONNECTION_LOST']));
  });

  test('nor a large one, which comes with the large requests', async () => {
    const [a, b] = await pair({ settings: { queueBytesMax: 200_000 } });
    await eventually('both up', () => a.transport.post('b', Buffer.from('news')));
    const answer: (() => void)[] = [];
    b.handlers.onRequest = (_from, body) =>
      new Promise((resolve) => answer.push(() => resolve(body.subarray(0, 1))));
    const asked = [1, 2, 3].map((n) => a.transport.request('b', Buffer.alloc(66_000, n), 60_000));
    await eventually('one there', () => answer.length === 1);
    const large = { term: 3, index: 2, kind: 'normal', data: Buffer.alloc(100_000) } as const;
    const place = { index: 1, logTerm: 1, commit: 0 };
    a.transport.send('b', 1, {
      type: 'append',
      from: 1,
      to: 2,
      term: 3,
      ...place,
      entries: [large],
    });
    await eventually('the message came', () => b.received.length === 1, 5_000);
    expect(answer).toHaveLength(1);
    for (let at = 0; at < 3; at++) {
      await eventually(`${at + 1} there`, () => answer.length === at + 1);
      answer[at]!();
    }
    expect((await Promise.all(asked)).map(([n]) => n)).toEqual([1, 2, 3]);
  });

  test('what is asked and parked holds up nothing that is asked behind it', async () => {
    const [a, b] = await pair({ settings: { queueBytesMax: 100_000 } });
    let parked = 0;
    b.handlers.onRequest = async (_from, body, asker) => {
      if (body.length === 1) return body;
      asker.park();
      parked++;
      return new Promise((resolve) => {
        asker.signal.addEventListener('abort', () => resolve(Buffer.alloc(++parked)));
      });
    };
    const gone = new AbortController();
    const waiting: Promise<unknown>[] = [];
    for (let at = 1; at <= 4; at++) {
      const asked = a.transport.request('b', Buffer.alloc(60_000), 60_000, gone.signal, true);
      waiting.push(asked.catch(({ code }) => code));
      await eventually(`${at} parked`, () => parked === at);
    }
    expect(await a.transport.request('b', Buffer.alloc(1), 5_000)).toHaveLength(1);
    // nor what they are told themselves
    gone.abort();
    await eventually('all cancelled', () => parked === 8);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['OUTCOME_UNKNOWN']));
  });

  test('what is parked is none of the requests that a peer may have', async () => {
    const [a, b] = await pair({ settings: { requestsMax: 2 } });
    let asked = 0;
    const answers: (() => void)[] = [];
    b.handlers.onRequest = (_, body, asker) => {
      asked++;
      if (body[0] === 1) asker.park();
      return new Promise((resolve) => answers.push(() => resolve(body)));
    };
    const all: Promise<unknown>[] = [];
    let refused = 0;
    const ask = async (kind: number, saysSo: boolean) => {
      const signal = new AbortController().signal;
      const sent = a.transport.request('b', Buffer.from([kind]), 60_000, signal, saysSo);
      all.push(
        sent.catch(({ code }) => {
          refused++;
          return code;
        }),
      );
      await eventually('it came, or was refused', () => asked + refused === all.length);
    };
    for (let at = 0; at < 5; at++) await ask(1, true);
    await ask(2, false);
    await ask(2, false);
    // one more is refused here, or there when this side does not count it
    await ask(2, false);
    await ask(2, true);
    expect([asked, refused]).toEqual([7, 2]);
    expect(await Promise.all(all.slice(7))).toEqual(['BUSY', 'BUSY']);
    for (const answer of answers) answer();
    expect((await Promise.all(all)).slice(0, 7)).toEqual(
      [1, 1, 1, 1, 1, 2, 2].map((kind) => Buffer.from([kind])),
    );
    // what was answered makes room
    b.handlers.onRequest = async (_, body) => body;
    expect(await a.transport.request('b', Buffer.alloc(3), 5_000)).toHaveLength(3);
  });

  test('a peer that reads nothing costs a bounded queue: the oldest messages go', async () => {
    const [a, b] = await pair({ settings: { queueBytesMax: 100_000, silenceMs: 10_000 } });
    const data = Buffer.alloc(10_000);
    for (let i = 0; i < 100; i++) {
      const entries = [{ term: 1, index: i, kind: 'normal', data } as const];
      const append = { type: 'append', from: 1, to: 2, term: 1, index: i } as const;
      a.transport.send('b', 1, { ...append, logTerm: 0, commit: 0, entries });
    }
    await eventually('the newest arrives', () =>
      b.received.some(({ message }) => message.type === 'append' && message.index === 99),
    );
    expect(b.received.length).toBeLessThan(10);
  });
});

/** A raw connection that says it is node x; resolves when welcomed (or refused). */
async function dialRaw(
  b: TestNode,
  dial: number,
  want: 'welcome' | 'refused' = 'welcome',
  kind: 'small' | 'bulk' = 'small',
) {
  const socket = connect(b.address.port, '127.0.0.1');
  socket.on('error', () => {});
  const kinds: number[] = [];
  const decoder = new FrameDecoder();
  socket.on('data', (chunk) => decoder.push(chunk, (_, body) => kinds.push(body[0]!)));
  const w = new FrameWriter();
  const self = { clusterId: 'cluster', node: 'x', incarnation: 'inc-x', bootId: 'boot-x' };
  encodeHello(w, {
    version: PROTOCOL_VERSION,
    self,
    expectedNode: 'b',
    expectedIncarnation: 'inc-b',
    kind,
    dial,
  });
  socket.write(w.take());
  await eventually(want, () => kinds.includes(want === 'welcome' ? 2 : 3));
  return socket;
}

function beats(n: number): Buffer {
  const w = new FrameWriter().begin(channels.raft);
  encodeMessage(w, 1, heartbeat(n));
  w.end();
  return w.take();
}
