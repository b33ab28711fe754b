import { beforeEach, expect, test } from 'vitest';
import { ReplyQueue } from '../../../src/datanode/server/reply-queue.ts';
import { WaitingRequests } from '../../../src/datanode/server/waiting-requests.ts';

let waiting: WaitingRequests;
let isHeldUp: boolean;
let taken: string[];
/** What a request does when its turn has come. */
let does: Map<string, () => void>;

const line = (text: string) => text.split(' ').map((word) => Buffer.from(word));
const request = (text: string) => ({ args: line(text), slot: new ReplyQueue().open(0, 2) });

beforeEach(() => {
  [isHeldUp, taken, does] = [true, [], new Map()];
  waiting = new WaitingRequests({
    isHeldUp: () => isHeldUp,
    take: (args) => {
      const text = args.join(' ');
      taken.push(text);
      does.get(text)?.();
    },
  });
});

function add(...texts: string[]): void {
  for (const text of texts) {
    waiting.add(request(text));
    waiting.noteHeldUp(line(text));
  }
}

function release(): void {
  isHeldUp = false;
  waiting.release();
}

test('they are taken in order, what was put back before them', () => {
  add('A', 'B');
  waiting.putBack(request('0'));
  release();
  expect(taken).toEqual(['0', 'A', 'B']);
  release();
  expect(taken).toHaveLength(3);
});

test('one that holds up the others is the last, until it lets them go', () => {
  add('A', 'B', 'C');
  does.set('B', () => {
    isHeldUp = true;
  });
  release();
  expect(taken).toEqual(['A', 'B']);
  release();
  expect(taken).toEqual(['A', 'B', 'C']);
});

test('what comes while they are taken waits behind the rest of them', () => {
  add('A', 'B');
  does.set('A', () => {
    isHeldUp = true;
    add('C');
  });
  release();
  release();
  expect(taken).toEqual(['A', 'B', 'C']);
});

test('nothing is taken while something holds them up, nor when the client has gone', () => {
  add('A');
  waiting.release();
  expect(taken).toEqual([]);
  waiting.forgetAll();
  release();
  expect(taken).toEqual([]);
});

test.each(['RESET', 'reset', 'rEsEt x'])('behind %s nobody knows who the client is', (text) => {
  add('A');
  expect(waiting.mayForget).toBe(false);
  add(text, 'B');
  expect(waiting.mayForget).toBe(true);
  does.set('A', () => {
    isHeldUp = true;
  });
  release();
  expect(waiting.mayForget).toBe(true);
  release();
  expect(waiting.mayForget).toBe(false);
});

test('RESETS and RESE are no RESET', () => {
  add('RESETS', 'RESE', 'GET reset');
  expect(waiting.mayForget).toBe(false);
});
