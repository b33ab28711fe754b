import { beforeEach, describe, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { OK } from '../../../src/datanode/resp/reply.ts';
import { ReplyQueue, type ReplySlot } from '../../../src/datanode/server/reply-queue.ts';
import { ReplyRoom } from '../../../src/datanode/server/reply-room.ts';

const PAUSE_BYTES = limits.connectionOutputPauseBytes;
const READS_BYTES = limits.connectionOutputReadsBytes;

let replies: ReplyQueue;
let room: ReplyRoom;
/** What was written and not taken; whether all clients together leave too much. */
let stream: { bufferedBytes: number };
let memory: { isTight: boolean };

beforeEach(() => {
  replies = new ReplyQueue();
  stream = { bufferedBytes: 0 };
  memory = { isTight: false };
  const output = {
    get waitingBytes() {
      return stream.bufferedBytes + replies.readyBytes;
    },
  };
  room = new ReplyRoom(stream, replies, output, memory);
});

const open = (count: number) => Array.from({ length: count }, () => replies.open(0, 2));
const mayStart = (slots: readonly ReplySlot[]) => slots.map((slot) => room.mayStart({ slot }));
/** So many bytes of it wait for those before it. */
const ready = (slot: ReplySlot, bytes: number) =>
  replies.settle(slot, { kind: 'encoded', bytes: Buffer.alloc(bytes) });

describe('a reply is begun', () => {
  test('whatever its place, while little waits', () => {
    expect(mayStart(open(3))).toEqual([true, true, true]);
  });

  test('if it is the next to leave, though much waits behind it', () => {
    const [first, second, third] = open(3);
    ready(third!, PAUSE_BYTES + 1);
    expect(mayStart([first!, second!])).toEqual([true, false]);
    expect([first!, second!].map((slot) => room.isNext({ slot }))).toEqual([true, false]);
  });

  test('not even then while the client takes nothing', () => {
    const slots = open(2);
    stream.bufferedBytes = PAUSE_BYTES + 1;
    expect(mayStart(slots)).toEqual([false, false]);
    stream.bufferedBytes = PAUSE_BYTES;
    expect(mayStart(slots)).toEqual([true, true]);
  });

  test('when nearly all of the last is taken, where unread replies take much memory', () => {
    const slots = open(1);
    stream.bufferedBytes = PAUSE_BYTES;
    memory.isTight = true;
    expect(mayStart(slots)).toEqual([false]);
    stream.bufferedBytes = PAUSE_BYTES / 16;
    expect(mayStart(slots)).toEqual([true]);
  });
});

describe('a read that was made', () => {
  test('waits here while others have left room for it', () => {
    const [, second] = open(2);
    stream.bufferedBytes = READS_BYTES;
    expect(room.hasRoomFor({ slot: second! })).toBe(true);
  });

  test('is made again if it finds none, and until then nothing but the next to leave', () => {
    const [first, second, third, fourth] = open(4);
    ready(fourth!, READS_BYTES + 1);
    expect(room.hasRoomFor({ slot: second! })).toBe(false);
    expect(room.hasRoomFor({ slot: first! })).toBe(true);
    replies.settle(first!, OK);
    room.settled(first!);
    replies.take();
    expect(mayStart([second!, third!])).toEqual([true, false]);
    expect(room.hasRoomFor({ slot: second! })).toBe(true);
  });

  test('holds nothing up once it is settled, however it ended', () => {
    const [, second, third, fourth] = open(4);
    stream.bufferedBytes = READS_BYTES + 1;
    expect(room.hasRoomFor({ slot: second! })).toBe(false);
    expect(room.hasRoomFor({ slot: third! })).toBe(false);
    stream.bufferedBytes = 0;
    expect(mayStart([fourth!])).toEqual([false]);
    room.settled(second!);
    expect(mayStart([fourth!])).toEqual([false]);
    room.settled(third!);
    expect(mayStart([fourth!])).toEqual([true]);
  });

  test('has no place though it is the next to leave, while the client takes nothing', () => {
    const [first] = open(1);
    stream.bufferedBytes = READS_BYTES + 1;
    expect(room.hasRoomFor({ slot: first! })).toBe(false);
  });
});

test('all is taken but for what the system would take at once', () => {
  stream.bufferedBytes = PAUSE_BYTES / 16;
  expect(room.isTaken()).toBe(true);
  ready(open(2)[1]!, 1_000);
  expect(room.isTaken()).toBe(false);
});
