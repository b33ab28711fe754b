/**
 * Frames between datanodes: whole, or refused by name with their connection; others go on. What
 * their bodies hold is a room of the engine.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ByteWriter } from '../../src/common/bytes.ts';
import { KvorumError } from '../../src/common/errors.ts';
import { limits } from '../../src/common/limits.ts';
import { decodeResults } from '../../src/datanode/routing/request-codec.ts';
import { decodeWaitAnswer } from '../../src/datanode/routing/wait-codec.ts';
import { channels, FrameDecoder, FrameWriter } from '../../src/datanode/transport/frame.ts';
import {
  decodeGreeting,
  encodeHello,
  encodeWelcome,
  type LinkKind,
  PROTOCOL_VERSION,
} from '../../src/datanode/transport/handshake.ts';
import { decodeMessages, messageBytes } from '../../src/datanode/transport/message-codec.ts';
import { startNode, type TestNode } from '../datanode/transport/nodes.ts';
import { scale } from '../scale.ts';
import { type Bending, bending, chunksOf, cuts } from './bytes.ts';
import { check, checkAsync } from './property.ts';
import { anyFrame, type Frame, frameBytes, groupMessages, raftBody } from './wire-messages.ts';
import { turns, type Wire, WireNetwork } from './wires.ts';

const runs = scale.fuzzFrames;
const linkKind = fc.constantFrom<LinkKind>('small', 'bulk');

describe('the codecs', () => {
  test('give every message as it was, wherever the stream is cut', () => {
    check(
      runs,
      fc.property(fc.array(groupMessages, { maxLength: 4 }), cuts, (bodies, at) => {
        const bytes = frameBytes(
          ...bodies.map((messages) => ({ channel: channels.raft, body: raftBody(messages) })),
        );
        const decoder = new FrameDecoder();
        const found: unknown[] = [];
        for (const chunk of chunksOf(bytes, at)) {
          decoder.push(chunk, (_channel, body) => found.push(decodeMessages(body)));
        }
        expect(found).toEqual(bodies);
        for (const messages of bodies) {
          const most = messages.reduce((sum, { message }) => sum + messageBytes(message), 0);
          expect(raftBody(messages).length).toBeLessThanOrEqual(most);
        }
      }),
    );
  });
});

test.each(['toString', '__proto__', 'NO_SUCH_CODE', 'x'.repeat(60_000)])(
  'a peer that fails a request with the code %.20s is refused in a few words',
  (code) => {
    const results = new ByteWriter(64).u8(1).u32(1).u8(0).text(code).text('why').finish();
    const outcome = new ByteWriter(64).u8(1).u8(4).text(code).text('why').finish();
    for (const decode of [() => decodeResults(results, 1), () => decodeWaitAnswer(outcome)]) {
      expect(decode).toThrow(/: unknown error code .{8,40}$/);
    }
  },
);

let network: WireNetwork;
let node: TestNode;
let good: Wire;
let dial = 0;

beforeAll(async () => {
  network = new WireNetwork();
  const settings = { keepaliveMs: 10_000, silenceMs: 100_000, backoffMinMs: 0, backoffMaxMs: 1 };
  node = await startNode('b', { network, settings });
  node.handlers.onStream = async (_from, _header, chunks) => {
    for await (const _ of chunks);
  };
  node.transport.setPeers(
    new Map(['x', 'y'].map((name) => [name, { host: name, port: 1, incarnation: `inc-${name}` }])),
  );
  good = hello('y', 'small');
  await turns();
  expect(good.frames.length).toBeGreaterThan(0);
});

afterAll(() => node.transport.close());

const selfOf = (name: string) => {
  return { clusterId: 'cluster', node: name, incarnation: `inc-${name}`, bootId: `boot-${name}` };
};

function helloBytes(name: string, kind: 'small' | 'bulk'): Buffer {
  const w = new FrameWriter();
  const expected = { expectedNode: 'b', expectedIncarnation: 'inc-b' };
  encodeHello(w, {
    version: PROTOCOL_VERSION,
    self: selfOf(name),
    ...expected,
    kind,
    dial: ++dial,
  });
  return w.take();
}

/** A connection of peer `name`, introduced. */
function hello(name: string, kind: 'small' | 'bulk'): Wire {
  const wire = network.dial();
  wire.feed(helloBytes(name, kind));
  return wire;
}

/** Others are served as before. */
function expectOthersServed(): void {
  const before = node.received.length;
  const beat = { type: 'forgetLeader', from: 1, to: 1, term: dial } as const;
  good.feed(frameBytes({ channel: channels.raft, body: raftBody([{ group: 7, message: beat }]) }));
  expect(good.closed).toBe(false);
  expect(node.received.slice(before)).toEqual([{ from: 'y', group: 7, message: beat }]);
  node.received.length = 0;
}

/** Frames with a checksum that is right, but bodies that may be bent; and then the bytes too. */
const traffic = fc
  .tuple(
    fc.array(fc.tuple(anyFrame, fc.option(bending)), { minLength: 1, maxLength: 6 }),
    fc.option(bending, { freq: 3 }),
    cuts,
  )
  .map(([frames, bendAll, at]) => {
    const bent = frames.map(([{ channel, body }, bend]): Frame => {
      return { channel, body: bend === null ? body : bend(body) };
    });
    const bytes = frameBytes(...bent);
    return chunksOf(bendAll === null ? bytes : bendAll(bytes), at);
  });

describe('a node', () => {
  test('drops who sends bent frames, tells why, and serves the others', async () => {
    let refused = 0;
    await checkAsync(
      runs,
      fc.asyncProperty(linkKind, traffic, async (kind, chunks) => {
        const wire = hello('x', kind);
        wire.feed(...chunks);
        await turns();
        if (wire.closed && wire.refusal() !== undefined) refused++;
        expectOthersServed();
        wire.hangUp();
      }),
    );
    expect(refused).toBeGreaterThan(runs / 4);
  });

  test('lets in nobody whose hello is bent, and keeps no more than a hello of it', async () => {
    await checkAsync(
      runs,
      fc.asyncProperty(bending, cuts, async (bend: Bending, at) => {
        const bytes = helloBytes('x', 'small');
        const bent = bend(bytes);
        const wire = network.dial();
        wire.feed(...chunksOf(bent, at));
        await turns(1);
        const whole = bent.length >= bytes.length && bent.subarray(0, bytes.length).equals(bytes);
        const welcomed = wire.frames.some(({ channel, body }) => channel === 0 && body[0] === 2);
        expect(welcomed).toBe(whole);
        expectOthersServed();
        wire.hangUp();
      }),
    );
  });

  test('settles every request to a peer that answers nonsense, and dials again', async () => {
    await checkAsync(
      Math.ceil(runs / 4),
      fc.asyncProperty(linkKind, traffic, async (kind, chunks) => {
        const wires = await dialedToX();
        const question = Buffer.alloc(kind === 'small' ? 1 : limits.frameSmallBytesMax + 1, '?');
        const asked = [1, 2, 3].map(() =>
          node.transport.request('x', question, 60_000).then(
            (answer) => expect(answer).toBeInstanceOf(Buffer),
            (failure) => expect(failure).toBeInstanceOf(KvorumError),
          ),
        );
        const streamed =
          kind === 'bulk' &&
          node.transport.stream('x', Buffer.from('h'), oneChunk()).then(
            () => {},
            (failure) => expect(failure).toBeInstanceOf(KvorumError),
          );
        await turns();
        wires[kind].feed(...chunks);
        await turns();
        wires.small.hangUp();
        wires.bulk.hangUp();
        await Promise.all([...asked, streamed]);
        expectOthersServed();
      }),
    );
  });
});

async function* oneChunk(): AsyncGenerator<Buffer> {
  yield Buffer.from('chunk');
}

/** The next connections that the node dials to x, welcomed; others are welcomed and kept. */
async function dialedToX(): Promise<Record<LinkKind, Wire>> {
  const wires: Partial<Record<LinkKind, Wire>> = {};
  for (;;) {
    const wire = await network.nextDialed();
    await turns();
    const [first] = wire.frames;
    const greeting = decodeGreeting(first!.channel, first!.body);
    if (greeting.kind !== 'hello') throw new Error(`dialed with a ${greeting.kind}`);
    const { expectedNode, kind } = greeting.hello;
    const w = new FrameWriter();
    encodeWelcome(w, selfOf(expectedNode));
    wire.feed(w.take());
    await turns();
    if (expectedNode === 'x') wires[kind] = wire;
    const { small, bulk } = wires;
    if (small && bulk) return { small, bulk };
  }
}
