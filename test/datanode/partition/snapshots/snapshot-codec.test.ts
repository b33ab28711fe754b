import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BatchOperation, Engine } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import {
  decodeSnapshotHeader,
  encodeSnapshotChunks,
  encodeSnapshotHeader,
  SnapshotDecoder,
} from '../../../../src/datanode/partition/snapshots/snapshot-codec.ts';

async function filled(pairs: number, valueBytes: number): Promise<Engine> {
  const { engine } = await createMemoryHost().open('1-0');
  const operations: BatchOperation[] = [];
  for (let at = 0; at < pairs; at++) {
    const key = Buffer.from(`\u0010key:${String(at).padStart(6, '0')}`);
    operations.push({ type: 'put', key, value: Buffer.alloc(valueBytes, at % 256) });
  }
  await engine.write(operations);
  return engine;
}

async function stream(engine: Engine): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of encodeSnapshotChunks(engine)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function decode(bytes: Buffer, cuts: readonly number[]): BatchOperation[] {
  const decoder = new SnapshotDecoder();
  const operations: BatchOperation[] = [];
  const edges = [0, ...[...cuts].sort((a, b) => a - b), bytes.length];
  for (let at = 1; at < edges.length; at++) {
    operations.push(...decoder.decode(bytes.subarray(edges[at - 1], edges[at])));
  }
  decoder.finish();
  return operations;
}

describe('a snapshot stream', () => {
  test('gives the same pairs however it is split', async () => {
    const bytes = await stream(await filled(200, 50));
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 20 }),
        (cuts) => {
          const operations = decode(bytes, cuts);
          expect(operations).toHaveLength(200);
          expect(operations[7]?.key.toString()).toBe('\u0010key:000007');
        },
      ),
      { numRuns: 30 },
    );
  });

  test('of many chunks arrives whole', async () => {
    const bytes = await stream(await filled(3_000, 500));
    expect(decode(bytes, [100_000, 500_000])).toHaveLength(3_000);
  });

  test('that is cut or damaged anywhere is refused', async () => {
    const bytes = await stream(await filled(5, 10));
    for (let at = 0; at < bytes.length; at++) {
      expect(() => decode(bytes.subarray(0, at), [])).toThrow();
      const damaged = Buffer.from(bytes);
      damaged[at]! ^= 0x10;
      expect(() => decode(damaged, []), `byte ${at}`).toThrow();
    }
  });

  test('is refused at its first byte after the trailer, and at a key out of order', async () => {
    const decoder = new SnapshotDecoder();
    decoder.decode(await stream(await filled(2, 10)));
    expect(() => decoder.decode(Buffer.alloc(1))).toThrow(/1 bytes after the trailer/);
    const pair = (key: string) => {
      const head = Buffer.alloc(4);
      head.writeUInt32BE(key.length);
      return Buffer.concat([head, Buffer.from(key, 'latin1'), Buffer.alloc(4)]);
    };
    for (const second of ['\u0010a', '\u0010b', '', '\u0000', '\u00ffz']) {
      const bytes = Buffer.concat([pair('\u0010b'), pair(second)]);
      const code = { code: 'BAD_FRAME' };
      expect(() => new SnapshotDecoder().decode(bytes), JSON.stringify(second)).toThrow(
        expect.objectContaining(code),
      );
    }
    expect(() => new SnapshotDecoder().decode(pair('\u0000'))).toThrow(
      /snapshot chunk: the key of pair 1 is out of order/,
    );
  });

  test('of one long value in tiny chunks takes no longer than it is long', async () => {
    const bytes = await stream(await filled(1, 4_000_000));
    const edges = Array.from({ length: bytes.length / 16 }, (_, at) => 16 * at);
    expect(decode(bytes, edges)).toHaveLength(1);
  });

  test('has a header that decodes, or is refused when cut', () => {
    const confState = {
      voters: [1, 2, 3],
      votersOutgoing: [1, 2, 4],
      learners: [5],
      learnersNext: [],
      autoLeave: true,
    };
    const snapshot = { index: 77, term: 5, confState, data: Buffer.alloc(0) };
    const message = { type: 'snapshot', from: 1, to: 2, term: 6, snapshot } as const;
    const bytes = encodeSnapshotHeader({ group: 9, id: 2 ** 50, offset: 12_345, message });
    expect(decodeSnapshotHeader(bytes)).toEqual({ group: 9, id: 2 ** 50, offset: 12_345, message });
    for (let length = 0; length < bytes.length; length++) {
      expect(() => decodeSnapshotHeader(bytes.subarray(0, length))).toThrow(/snapshot header/);
    }
  });
});
