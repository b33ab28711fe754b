import { describe, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { silentLogger } from '../../../src/common/log.ts';
import type { ByteStream, StreamHandlers } from '../../../src/common/network.ts';
import type { CommandLine } from '../../../src/datanode/partition/batch.ts';
import { OK } from '../../../src/datanode/resp/reply.ts';
import { ClientStream } from '../../../src/datanode/server/client-stream.ts';
import type { ReplySlot } from '../../../src/datanode/server/reply-queue.ts';
import { ServerStats } from '../../../src/datanode/server/stats.ts';
import { ManualClock } from '../raftlog/manual-clock.ts';
import { wire } from './doors.ts';

class FakeStream implements ByteStream {
  readonly remote = 'test';
  bufferedBytes = 0;
  handlers: StreamHandlers | undefined;
  written = '';
  paused = false;
  ended = false;

  attach(handlers: StreamHandlers): void {
    this.handlers = handlers;
  }
  write(bytes: Uint8Array): boolean {
    this.written += Buffer.from(bytes).toString('latin1');
    return true;
  }
  pause(): void {
    this.paused = true;
  }
  resume(): void {
    this.paused = false;
  }
  end(): void {
    this.ended = true;
  }
  destroy(): void {
    this.handlers?.onClose();
  }
}

function open() {
  const clock = new ManualClock();
  const stream = new FakeStream();
  const requests: { readonly args: CommandLine; readonly slot: ReplySlot }[] = [];
  let closed = 0;
  const stats = new ServerStats();
  const client = new ClientStream(
    stream,
    { clock, logger: silentLogger, stats },
    {
      lanes: { start: () => {}, pumpAll: () => {} },
      protocol: () => 2,
      onRequest: (args, slot) => requests.push({ args, slot }),
      onClose: () => closed++,
    },
  );
  client.open();
  const send = (...commands: string[]) =>
    stream.handlers!.onData(Buffer.from(commands.map(wire).join('')));
  const names = () => requests.map(({ args }) => args[0]!.toString());
  return { clock, stream, requests, client, send, names, closedTimes: () => closed };
}

describe('a client', () => {
  test('is not read while it has too many requests unanswered', async () => {
    const { clock, stream, client, requests, send, names } = open();
    const more = limits.connectionInFlightMax + 10;
    send(...Array.from({ length: more }, (_, at) => `R${at}`));
    expect(names()).toHaveLength(limits.connectionInFlightMax);
    expect(stream.paused).toBe(true);
    for (const { slot } of requests.slice(0, 20)) client.settle(slot, OK);
    await clock.step();
    expect(names()).toHaveLength(more);
    expect(stream.paused).toBe(false);
  });

  test('that ends when all is answered is answered what comes until then', async () => {
    const { clock, stream, client, requests, send, names } = open();
    send('A');
    client.endWhenAnswered();
    send('B');
    expect(names()).toEqual(['A', 'B']);
    client.settle(requests[1]!.slot, OK);
    await clock.step();
    expect(stream.ended).toBe(false);
    client.settle(requests[0]!.slot, OK);
    await clock.step();
    expect(stream.ended).toBe(true);
    send('C');
    expect(names()).toEqual(['A', 'B']);
  });
});
