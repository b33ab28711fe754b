import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { codeOf } from '../../../src/common/errors.ts';
import {
  BodyReader,
  channels,
  FRAME_HEADER_BYTES,
  FrameDecoder,
  FrameWriter,
} from '../../../src/datanode/transport/frame.ts';

interface Frame {
  readonly channel: number;
  readonly body: Buffer;
}

function encode(frames: readonly Frame[]): Buffer {
  const writer = new FrameWriter(8);
  for (const { channel, body } of frames) writer.begin(channel).raw(body).end();
  return writer.take();
}

function decode(chunks: readonly Buffer[], bodyBytesMax?: number): Frame[] {
  const decoder = new FrameDecoder(bodyBytesMax);
  const frames: Frame[] = [];
  for (const chunk of chunks)
    decoder.push(chunk, (channel, body) => frames.push({ channel, body }));
  return frames;
}

const anyFrame = fc.record({
  channel: fc.integer({ min: 0, max: channels.pubsub }),
  body: fc.uint8Array({ maxLength: 5_000 }).map((bytes) => Buffer.from(bytes)),
});

describe('the format', () => {
  test('is frozen: vectors', () => {
    const vectors: [Frame, string][] = [
      [{ channel: channels.control, body: Buffer.alloc(0) }, '6b76010000000000ac475530'],
      [{ channel: channels.raft, body: Buffer.from('abc') }, '6b76010100000003e02476ac616263'],
      [{ channel: channels.pubsub, body: Buffer.from('abc') }, '6b76010400000003a8c478c8616263'],
    ];
    for (const [frame, hex] of vectors) {
      const bytes = encode([frame]).toString('hex');
      expect(bytes).toBe(hex);
      expect(decode([Buffer.from(bytes, 'hex')])).toEqual([frame]);
    }
  });

  test('numbers of any size come back, and the smallest bytes are used', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (value) => {
        const bytes = new FrameWriter().begin(1).varint(value);
        expect(bytes.bodyLength).toBe(Math.max(1, Math.ceil(value.toString(2).length / 7)));
        bytes.end();
        const reader = new BodyReader(bytes.take().subarray(FRAME_HEADER_BYTES));
        expect(reader.varint()).toBe(value);
        reader.end();
      }),
    );
  });
});

describe('the decoder', () => {
  test('gives the same frames wherever the stream is cut', () => {
    fc.assert(
      fc.property(
        fc.array(anyFrame, { maxLength: 6 }),
        fc.array(fc.nat({ max: 20_000 }), { maxLength: 20 }),
        (frames, cuts) => {
          const bytes = encode(frames);
          const places = [0, ...cuts.map((at) => at % (bytes.length + 1)), bytes.length];
          places.sort((a, b) => a - b);
          const chunks = places.slice(1).map((end, i) => bytes.subarray(places[i], end));
          expect(decode(chunks)).toEqual(frames);
        },
      ),
    );
  });

  test('gives the same frames byte by byte', () => {
    const frames = [
      { channel: 0, body: Buffer.alloc(0) },
      { channel: 3, body: Buffer.from('hello') },
      { channel: 1, body: Buffer.alloc(300, 9) },
    ];
    expect(decode(Array.from(encode(frames), (byte) => Buffer.of(byte)))).toEqual(frames);
  });

  test('bodies share no memory with the chunk they came in', () => {
    const chunk = Buffer.from(encode([{ channel: 1, body: Buffer.alloc(5_000, 1) }]));
    const [frame] = decode([chunk]);
    chunk.fill(0);
    expect(frame!.body.equals(Buffer.alloc(5_000, 1))).toBe(true);
    expect(frame!.body.buffer.byteLength).toBe(5_000);
  });

  test('any flipped bit is refused, and nothing wrong is delivered', () => {
    const frame = { channel: 1, body: Buffer.from('raft messages') };
    const bytes = encode([frame]);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const damaged = Buffer.from(bytes);
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      let delivered: Frame[] = [];
      try {
        delivered = decode([damaged]);
      } catch (error) {
        expect(codeOf(error)).toBe('BAD_FRAME');
      }
      expect(delivered).toEqual([]); // a longer length only waits for more
    }
  });

  test('random bytes never do more than fail', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 5 }), (chunks) => {
        try {
          decode(chunks.map((chunk) => Buffer.from(chunk)));
        } catch (error) {
          expect(codeOf(error)).toBe('BAD_FRAME');
        }
      }),
    );
  });

  test.each([
    ['a foreign protocol', Buffer.from('PING\r\nPING\r\n'), /not a kvorum frame/],
    ['another version', Buffer.from('6b7602010000000000000000', 'hex'), /version 2/],
    ['an unknown channel', Buffer.from('6b7601090000000000000000', 'hex'), /channel 9/],
    ['a length beyond the bound', Buffer.from('6b760101ffffffff00000000', 'hex'), /at most/],
    ['a wrong checksum', Buffer.from('6b7601010000000000000000', 'hex'), /checksum/],
  ])('says what is wrong with %s', (_, bytes, message) => {
    expect(() => decode([bytes])).toThrow(message);
  });

  test('accepts no more than it was told to before the handshake', () => {
    const bytes = encode([{ channel: 0, body: Buffer.alloc(101) }]);
    expect(() => decode([bytes], 100)).toThrow(/101 bytes, at most 100/);
  });

  test('delivers nothing after it was stopped from within a frame', () => {
    const decoder = new FrameDecoder();
    let count = 0;
    const frame = { channel: 1, body: Buffer.of(1) };
    decoder.push(encode([frame, frame, frame]), () => {
      count++;
      decoder.stop();
    });
    expect(count).toBe(1);
  });
});

describe('the body reader', () => {
  test.each([
    ['a field beyond the end', (r: BodyReader) => r.u32(), Buffer.of(1, 2)],
    ['bytes longer than the body', (r: BodyReader) => r.bytes(), Buffer.of(200, 1, 5)],
    ['a varint that never ends', (r: BodyReader) => r.varint(), Buffer.alloc(20, 0xff)],
    ['a flag that is no flag', (r: BodyReader) => r.flag(), Buffer.of(2)],
    ['what nobody read', (r: BodyReader) => r.end(), Buffer.of(2)],
  ])('refuses %s', (_, read, body) => {
    expect(() => read(new BodyReader(body))).toThrow(
      expect.objectContaining({ code: 'BAD_FRAME' }),
    );
  });
});
