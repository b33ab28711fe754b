import fc from 'fast-check';
import { expect, test } from 'vitest';
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
  const link = new Link(
    stream,
    { clock, settings, pulse },
    { onFrame: () => {}, onClose: () => {} },
  );
  return { clock, stream, link };
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
