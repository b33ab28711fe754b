import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { channels, FrameDecoder } from '../../../src/datanode/transport/frame.ts';
import { Link } from '../../../src/datanode/transport/link.ts';
import { Pulse } from '../../../src/datanode/transport/pulse.ts';
import { defaultTransportSettings } from '../../../src/datanode/transport/settings.ts';
import { SlowStream } from '../../common/slow-stream.ts';
import { ManualClock } from '../raftlog/manual-clock.ts';

const settings = defaultTransportSettings;

function open() {
  const clock = new ManualClock();
  const stream = new SlowStream();
  const pulse = new Pulse(clock, settings.keepaliveMs);
  const closed: (string | undefined)[] = [];
  const handlers = {
    onFrame: () => {},
    onClose: (error?: Error) => void closed.push(error?.message),
  };
  const link = new Link(stream, { clock, settings, pulse }, handlers);
  return { clock, stream, link, handlers, closed };
}

/** Everything until `ms` later has happened. */
async function pass(clock: ManualClock, ms: number): Promise<void> {
  const untilMs = clock.monotonicMs() + ms;
  let isOver = false;
  clock.setTimer(ms, () => {
    isOver = true;
  });
  while (!isOver) await clock.step();
  expect(clock.monotonicMs()).toBe(untilMs);
}

test('frames come as they were written, however slowly the system takes them', async () => {
  const step = fc.record({
    bytes: fc.oneof(fc.nat(200), fc.nat(3_000), fc.constant(300_000)),
    room: fc.constantFrom(0, 7, 1_000, 1e9),
    taken: fc.constantFrom(0, 50, 1e6),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const { clock, stream, link } = open();
      for (const [at, { bytes, room, taken }] of steps.entries()) {
        stream.room = room;
        const body = Buffer.alloc(bytes, `${at % 10}`);
        link.write((w) => w.begin(channels.raft).raw(body).end());
        await clock.step();
        stream.take(taken);
      }
      stream.take(Number.POSITIVE_INFINITY);
      const bodies: string[] = [];
      const decoder = new FrameDecoder();
      decoder.push(Buffer.from(stream.taken, 'latin1'), (_, body) => bodies.push(`${body}`));
      const sent = steps.map(({ bytes }, at) => `${at % 10}`.repeat(bytes));
      expect(bodies.join('|') === sent.join('|')).toBe(true);
      link.destroy();
    }),
  );
});

describe('a link that is not read', () => {
  const { untakenMs, silenceMs, keepaliveMs } = settings;

  /** Established and paused, with so much that the system does not take. */
  function paused(bytes: number) {
    const opened = open();
    opened.link.establish(opened.handlers);
    opened.stream.room = 0;
    if (bytes > 0) opened.link.write((w) => w.begin(channels.raft).raw(Buffer.alloc(bytes)).end());
    opened.link.pause(opened);
    return opened;
  }

  test('is closed when the other side takes nothing for long, and not before', async () => {
    const { clock, link, closed } = paused(3_000_000);
    await pass(clock, untakenMs - keepaliveMs);
    expect(link.closed).toBe(false);
    await pass(clock, 4 * keepaliveMs);
    expect(closed).toEqual([`nothing taken for ${untakenMs} ms`]);
  });

  test('stays while the other side takes some, also when more comes than it takes', async () => {
    const { clock, stream, link } = paused(3_000_000);
    for (let ms = 0; ms < 2 * untakenMs; ms += keepaliveMs) {
      stream.take(10);
      link.write((w) => w.begin(channels.raft).raw(Buffer.alloc(100)).end());
      await pass(clock, keepaliveMs);
    }
    expect(link.closed).toBe(false);
    link.destroy();
  });

  test('stays when nothing waits for the other side', async () => {
    const { clock, stream, link } = paused(0);
    stream.room = Number.POSITIVE_INFINITY;
    await pass(clock, 2 * untakenMs);
    expect(link.closed).toBe(false);
    link.destroy();
  });

  test('is read again when all who paused it have resumed it', () => {
    const { stream, link } = open();
    const [one, other] = [{}, {}];
    link.pause(one);
    link.pause(other);
    link.pause(other);
    link.resume(one);
    expect(stream.isPaused).toBe(true);
    link.resume(one);
    expect(stream.isPaused).toBe(true);
    link.resume(other);
    expect(stream.isPaused).toBe(false);
    link.destroy();
  });

  test('has its silence counted anew once it is read again', async () => {
    const opened = paused(3_000_000);
    const { clock, link, closed } = opened;
    await pass(clock, untakenMs - keepaliveMs);
    link.resume(opened);
    await pass(clock, silenceMs - keepaliveMs);
    expect(link.closed).toBe(false);
    await pass(clock, 4 * keepaliveMs);
    expect(closed).toEqual([`nothing heard for ${silenceMs} ms`]);
  });

  test('that is read, and whose keepalives the system takes, is closed after silence', async () => {
    const { clock, link, handlers, closed } = open();
    link.establish(handlers);
    await pass(clock, silenceMs - keepaliveMs);
    expect(link.closed).toBe(false);
    await pass(clock, 4 * keepaliveMs);
    expect(closed).toEqual([`nothing heard for ${silenceMs} ms`]);
  });
});
