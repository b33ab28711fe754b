import { describe, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { silentLogger } from '../../../src/common/log.ts';
import type { ByteStream, StreamHandlers } from '../../../src/common/network.ts';
import type { CommandLine } from '../../../src/datanode/partition/entries/batch.ts';
import { OK, type Reply } from '../../../src/datanode/resp/reply.ts';
import { ClientMemory } from '../../../src/datanode/server/client-memory.ts';
import { ClientStream } from '../../../src/datanode/server/client-stream.ts';
import type { LaneItem } from '../../../src/datanode/server/lane.ts';
import type { ReplySlot } from '../../../src/datanode/server/reply-queue.ts';
import { ServerStats } from '../../../src/datanode/server/stats.ts';
import { ManualClock } from '../raftlog/manual-clock.ts';
import { wire } from './doors.ts';

class FakeStream implements ByteStream {
  readonly remote = 'test';
  readonly local = 'here';
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

/** Each request is `requestMs` of work, and then `after`. */
function open(requestMs = 0, after: (client: ClientStream) => void = () => {}) {
  const clock = new ManualClock();
  const stream = new FakeStream();
  const requests: { readonly args: CommandLine; readonly slot: ReplySlot }[] = [];
  let closed = 0;
  const stats = new ServerStats();
  const memory = new ClientMemory(limits.clientsRequestBytesMax);
  const taken = new ClientMemory(limits.clientsRequestBytesMax);
  const client: ClientStream = new ClientStream(
    stream,
    {
      ...{ clock, logger: silentLogger, stats, requests: memory, replies: taken },
      strangers: { tell: () => {} },
    },
    {
      lanes: { start: () => {} },
      protocol: () => 2,
      mayBeLarge: () => true,
      onRequest: (args, slot) => {
        requests.push({ args, slot });
        clock.spend(requestMs);
        after(client);
      },
      onRoom: () => {},
      onInputEnd: () => {},
      keptBytes: () => 0,
      onClose: () => closed++,
    },
  );
  client.open();
  const send = (...commands: string[]) =>
    stream.handlers!.onData(Buffer.from(commands.map(wire).join('')));
  const names = () => requests.map(({ args }) => args[0]!.toString());
  const held = () => [memory.bytes, taken.bytes];
  return { clock, stream, requests, client, send, names, held, closedTimes: () => closed };
}

const many = (name: string) => [name, ...Array.from({ length: 2_100 }, (_, at) => at)].join(' ');

describe('a request of thousands of arguments', () => {
  test('is handed over in a later turn, and nothing before it', async () => {
    const { clock, stream, send, names } = open();
    send('A', many('B'), 'C', many('D'), 'E');
    expect(names()).toEqual(['A']);
    expect(stream.paused).toBe(true);
    await clock.step();
    expect(names()).toEqual(['A', 'B', 'C']);
    await clock.step();
    expect(names()).toEqual(['A', 'B', 'C', 'D', 'E']);
    expect(stream.paused).toBe(false);
  });

  test('is answered when the server stops meanwhile, as what came before it', async () => {
    const { clock, stream, client, requests, send, names } = open();
    send('A', many('B'), 'C');
    client.close();
    await clock.steps(3);
    expect(names()).toEqual(['A', 'B']);
    for (const { slot } of requests) client.settle(slot, OK);
    expect(stream.ended).toBe(false);
    await clock.steps(3);
    expect(stream.written).toBe('+OK\r\n+OK\r\n');
    expect(stream.ended).toBe(true);
  });

  test('is forgotten when the client goes', async () => {
    const { clock, stream, send, names, closedTimes } = open();
    send(many('A'));
    stream.destroy();
    stream.destroy();
    await clock.steps(3);
    expect(names()).toEqual([]);
    expect(closedTimes()).toBe(1);
  });
});

describe('a pipeline of requests that take long together', () => {
  const count = 200;
  const pipeline = Array.from({ length: count }, (_, at) => `R${at}`);

  test('is taken in several turns, in order, however it came', async () => {
    const { clock, stream, send, names } = open(0.1);
    send(...pipeline);
    const turns = [names().length];
    expect(stream.paused).toBe(true);
    while (await clock.step()) turns.push(names().length - turns.reduce((a, b) => a + b));
    expect(Math.max(...turns)).toBeLessThanOrEqual(limits.turnMs / 0.1 + 16);
    expect(names()).toEqual(pipeline);
    expect(stream.paused).toBe(false);
  });

  test('is answered as a whole before its connection ends', async () => {
    const { clock, stream, client, requests, send } = open(0.1);
    send(...pipeline);
    client.endWhenAnswered();
    for (let answered = 0; answered < count; await clock.step()) {
      while (answered < requests.length) client.settle(requests[answered++]!.slot, OK);
    }
    await clock.steps(5);
    expect(stream.written).toBe('+OK\r\n'.repeat(count));
    expect(stream.ended).toBe(true);
  });
});

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

  test('that is destroyed has gone at once, before its stream tells', async () => {
    const { clock, stream, client, requests, send, names, closedTimes } = open(0, (its) =>
      its.destroy(),
    );
    let told = () => {};
    stream.destroy = () => {
      told = () => stream.handlers!.onClose();
    };
    send('A', 'B');
    expect(closedTimes()).toBe(1);
    client.settle(requests[0]!.slot, OK);
    told();
    await clock.steps(3);
    expect(names()).toEqual(['A']);
    expect(stream.written).toBe('');
    expect(closedTimes()).toBe(1);
  });

  test('that goes has the node hold nothing any more, neither of its requests nor of its replies', async () => {
    const { clock, stream, client, requests, send, held } = open();
    const value = 'v'.repeat(100_000);
    send(`A ${value}`, `B ${value}`, `C ${value}`);
    client.settle(requests[1]!.slot, { kind: 'bulk', bytes: Buffer.from(value) });
    await clock.step();
    const [ofRequests, ofReplies] = held();
    expect(ofRequests).toBeGreaterThan(200_000);
    expect(ofReplies).toBeGreaterThanOrEqual(100_000);
    stream.destroy();
    expect(held()).toEqual([0, 0]);
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

  test('that sends no more is answered all it sent, though there was no room for all', async () => {
    const { clock, stream, client, requests, send } = open();
    const more = limits.connectionInFlightMax + 10;
    send(...Array.from({ length: more }, (_, at) => `R${at}`));
    stream.handlers!.onEnd!();
    for (let answered = 0; answered < more; await clock.step()) {
      while (answered < requests.length) client.settle(requests[answered++]!.slot, OK);
    }
    expect(stream.written).toBe('+OK\r\n'.repeat(more));
    expect(stream.ended).toBe(true);
  });

  test('gets values of megabytes from where they are, between its other replies', async () => {
    const { clock, stream, client, requests, send } = open();
    send('A', 'B', 'C');
    const bytes = Buffer.alloc(300_000, 'v');
    client.settle(requests[0]!.slot, OK);
    client.settle(requests[1]!.slot, { kind: 'bulk', bytes });
    client.settle(requests[2]!.slot, OK);
    await clock.step();
    expect(stream.written === `+OK\r\n$300000\r\n${bytes}\r\n+OK\r\n`).toBe(true);
  });
});

describe('replies to reads that are large together', () => {
  const bytes = limits.connectionOutputReadsBytes + 1;
  const itemOf = (slot: ReplySlot) => ({ slot }) as unknown as LaneItem;

  test('are made again one by one, until those that were dropped have been', async () => {
    const { clock, stream, client, requests, send } = open();
    send('A', 'B', 'C', 'D');
    const [a, b, c, d] = requests.map(({ slot }) => slot);
    const large: Reply = { kind: 'encoded', bytes: Buffer.alloc(bytes) };
    expect(client.room.hasRoomFor(itemOf(b!))).toBe(true);
    client.settle(b!, large);
    expect([c!, d!].map((slot) => client.room.hasRoomFor(itemOf(slot)))).toEqual([false, false]);
    // the next to leave holds nothing up, however much waits behind it
    expect(client.room.hasRoomFor(itemOf(a!))).toBe(true);
    client.settle(a!, OK);
    stream.bufferedBytes = bytes;
    await clock.step();
    expect(client.room.hasRoomFor(itemOf(c!))).toBe(false);
    expect(client.room.mayStart(itemOf(c!))).toBe(false);
    stream.bufferedBytes = 0;
    expect([c!, d!].map((slot) => client.room.mayStart(itemOf(slot)))).toEqual([true, false]);
    expect(client.room.hasRoomFor(itemOf(c!))).toBe(true);
    client.settle(c!, OK);
    client.settle(d!, OK);
    await clock.step();
    send('E', 'F');
    expect(requests.slice(4).map(({ slot }) => client.room.mayStart(itemOf(slot)))).toEqual([
      true,
      true,
    ]);
  });
});

describe('what tells a client that it has to forget something', () => {
  const bytes = Buffer.from('forget');

  test('comes behind replies that are known, and at once as well when others hold those back', async () => {
    const { clock, stream, client, requests, send } = open();
    const pushed: string[] = [];
    const pushes = { push: (one: Buffer) => void pushed.push(`${one}`) };
    send('A', 'B');
    client.settle(requests[1]!.slot, OK);
    client.tellBehindKnown(bytes, pushes);
    expect(pushed).toEqual([]);
    while (await clock.step());
    expect(pushed).toEqual(['forget']);
    expect(clock.monotonicMs()).toBeLessThanOrEqual(500);
    client.settle(requests[0]!.slot, OK);
    while (await clock.step());
    expect(stream.written).toBe('+OK\r\n+OK\r\nforget');
    expect(pushed).toEqual(['forget']);
  });

  test('comes once when they leave soon, and to nobody who has gone', async () => {
    const { clock, stream, client, requests, send } = open();
    const pushed: string[] = [];
    const pushes = { push: (one: Buffer) => void pushed.push(`${one}`) };
    send('A', 'B', 'C', 'D');
    client.settle(requests[1]!.slot, OK);
    client.tellBehindKnown(bytes, pushes);
    client.settle(requests[0]!.slot, OK);
    while (await clock.step());
    expect(stream.written).toBe('+OK\r\n+OK\r\nforget');
    client.settle(requests[3]!.slot, OK);
    client.tellBehindKnown(bytes, pushes);
    client.destroy();
    while (await clock.step());
    expect(pushed).toEqual([]);
  });
});
