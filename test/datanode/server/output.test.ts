import fc from 'fast-check';
import { expect, test } from 'vitest';
import { silentLogger } from '../../../src/common/log.ts';
import { encodeReply } from '../../../src/datanode/resp/encode-reply.ts';
import { array, bulk, type Reply } from '../../../src/datanode/resp/reply.ts';
import { ClientMemory } from '../../../src/datanode/server/client-memory.ts';
import { Output } from '../../../src/datanode/server/output.ts';
import { ReplyQueue } from '../../../src/datanode/server/reply-queue.ts';
import { ServerStats } from '../../../src/datanode/server/stats.ts';
import { SlowStream } from '../../common/slow-stream.ts';

class Client {
  readonly stream = new SlowStream();
  readonly replies = new ReplyQueue();
  readonly stats = new ServerStats();
  readonly output = new Output(this.stream, this.replies, {
    logger: silentLogger,
    stats: this.stats,
    replies: new ClientMemory(1e9),
  });
  /** What must come. */
  expected = '';

  answer(reply: Reply): void {
    this.replies.settle(this.replies.open(0, 2), reply);
    this.expected += encodeReply(reply, 2).toString('latin1');
  }

  push(bytes: Buffer): void {
    this.output.push(bytes);
    this.expected += bytes.toString('latin1');
  }
}

/** Up to beyond what is sent uncopied, of a letter that tells replies apart. */
const anyReply = fc
  .record({
    bytes: fc.oneof(fc.nat(300), fc.nat(5_000), fc.constantFrom(70_000, 200_000, 300_000)),
    letter: fc.constantFrom(...'abcdefghij'),
    items: fc.constantFrom(0, 3),
  })
  .map(({ bytes, letter, items }): Reply => {
    const value = bulk(Buffer.alloc(bytes, letter));
    return items === 0 ? value : array(Array.from({ length: items }, () => value));
  });

const anyStep = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('answer' as const), reply: anyReply }) },
  fc.record({ kind: fc.constant('push' as const), bytes: fc.constantFrom(10, 900, 20_000) }),
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('flush' as const) }) },
  fc.record({ kind: fc.constant('take' as const), bytes: fc.nat(100_000) }),
  fc.record({ kind: fc.constant('room' as const), bytes: fc.constantFrom(0, 7, 100_000, 1e9) }),
);

test('clients whose output shares memory get their own bytes, however slowly they are taken', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(2), anyStep), { maxLength: 60 }), (steps) => {
      const clients = [new Client(), new Client(), new Client()];
      for (const [at, step] of steps) {
        const client = clients[at]!;
        if (step.kind === 'answer') client.answer(step.reply);
        else if (step.kind === 'push') client.push(Buffer.alloc(step.bytes, `${at}`));
        else if (step.kind === 'flush') client.output.flush();
        else if (step.kind === 'take') client.stream.take(step.bytes);
        else client.stream.room = step.bytes;
      }
      for (const { stream, output, expected } of clients) {
        stream.room = Number.POSITIVE_INFINITY;
        output.flush();
        stream.take(Number.POSITIVE_INFINITY);
        expect(stream.taken === expected).toBe(true);
        expect(output.waitingBytes).toBe(0);
      }
    }),
  );
});

test('replies that are taken at once are written from the same memory again and again', () => {
  const memories = new Set<ArrayBufferLike>();
  const client = new Client();
  const write = client.stream.write.bind(client.stream);
  client.stream.write = (bytes) => {
    memories.add(bytes.buffer);
    return write(bytes);
  };
  for (let at = 0; at < 100; at++) {
    client.answer(bulk(Buffer.alloc(11_000, 'v')));
    client.output.flush();
  }
  expect(memories.size).toBe(1);
  expect(client.stream.taken === client.expected).toBe(true);
});

test('memory that is still looked at is not lent to another client', () => {
  const [slow, other] = [new Client(), new Client()];
  slow.stream.room = 7;
  slow.answer(bulk(Buffer.alloc(11_000, 's')));
  slow.output.flush();
  other.answer(bulk(Buffer.alloc(11_000, 'o')));
  other.output.flush();
  slow.stream.take(Number.POSITIVE_INFINITY);
  expect(slow.stream.taken === slow.expected).toBe(true);
  expect(other.stream.taken === other.expected).toBe(true);
});
