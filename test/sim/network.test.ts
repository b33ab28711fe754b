import { describe, expect, test } from 'vitest';
import type { ByteStream, Network } from '../../src/common/network.ts';
import { seededRandom } from '../../src/common/random.ts';
import { SimNetwork, type SimNetworkOptions } from './network.ts';
import { Scheduler } from './scheduler.ts';

interface Side {
  readonly stream: ByteStream;
  readonly bytes: Buffer[];
  readonly events: string[];
}

function watch(stream: ByteStream): Side {
  const side: Side = { stream, bytes: [], events: [] };
  stream.attach({
    onData: (chunk) => side.bytes.push(chunk),
    onDrain: () => side.events.push('drain'),
    onClose: (error) => side.events.push(`close ${(error as { code?: string })?.code ?? 'clean'}`),
  });
  return side;
}

async function world(seed = 1, options: SimNetworkOptions = {}) {
  const random = seededRandom(seed);
  const scheduler = new Scheduler(random);
  const network = new SimNetwork(scheduler, random, options);
  const [a, b] = [network.node('a'), network.node('b')];
  const sides: Side[] = [];
  const { port } = await b.listen({ host: 'b', port: 0 }, (s) => sides.push(watch(s)));
  return { scheduler, network, a, b, port, accepted: sides };
}

async function connected(seed = 1, options?: SimNetworkOptions) {
  const w = await world(seed, options);
  let dialed: Side | undefined;
  void w.a.connect({ host: 'b', port: w.port }, 100).then((s) => {
    dialed = watch(s);
  });
  await w.scheduler.run(20);
  return { ...w, dialed: dialed!, other: w.accepted[0]! };
}

async function failure(w: Awaited<ReturnType<typeof world>>, from: Network, port: number) {
  let code = '';
  from.connect({ host: 'b', port }, 100).catch((error) => {
    code = error.code;
  });
  await w.scheduler.run(w.scheduler.nowMs + 200);
  return code;
}

async function open(scheduler: Scheduler, from: Network, port: number): Promise<ByteStream> {
  let stream: ByteStream | undefined;
  void from.connect({ host: 'b', port }, 100).then((made) => {
    stream = made;
  });
  await scheduler.run(scheduler.nowMs + 20);
  return stream!;
}

const text = (side: Side) => Buffer.concat(side.bytes).toString();

describe('a simulated connection', () => {
  test('carries bytes in order however they are cut, and equally for equal seeds', async () => {
    const hashes: string[] = [];
    for (let run = 0; run < 2; run++) {
      const { scheduler, dialed, other } = await connected(5);
      let sent = '';
      for (let i = 0; i < 200; i++) {
        sent += `message ${i};`;
        dialed.stream.write(Buffer.from(`message ${i};`));
        if (i % 10 === 0) await scheduler.run(scheduler.nowMs + 1);
      }
      await scheduler.run(scheduler.nowMs + 500);
      expect(text(other)).toBe(sent);
      expect(other.bytes.length).toBeGreaterThan(5);
      hashes.push(scheduler.traceHash);
    }
    expect(hashes[0]).toBe(hashes[1]);
  });

  test('cuts what was written into pieces, and joins what was written apart', async () => {
    /** Ends of the chunks that arrive of three messages of ten bytes, sent at once. */
    const chunksOf = async (splitChance: number, mergeChance: number) => {
      const latency = { latencyMinMs: 1, latencyMaxMs: 1 };
      const { scheduler, dialed, other } = await connected(3, {
        ...{ ...latency, splitChance, mergeChance },
      });
      for (let at = 0; at < 3; at++) dialed.stream.write(Buffer.alloc(10, at));
      await scheduler.run(scheduler.nowMs + 50);
      return other.bytes.map(({ length }) => length);
    };
    expect(await chunksOf(0, 0)).toEqual([10, 10, 10]);
    expect(await chunksOf(0, 1)).toEqual([30]);
    const pieces = await chunksOf(0.9, 0);
    expect(pieces.length).toBeGreaterThan(3);
    expect(pieces.reduce((sum, length) => sum + length)).toBe(30);
  });

  test('takes its time: latency for each delivery, bandwidth for each byte', async () => {
    const options = { latencyMinMs: 5, latencyMaxMs: 8, splitChance: 0, mergeChance: 0 };
    const { scheduler, dialed, other } = await connected(4, { ...options, bytesPerMs: 10 });
    const began = scheduler.nowMs;
    const until = async (bytes: number) => {
      await scheduler.runUntil(() => Buffer.concat(other.bytes).length >= bytes, 10_000);
      return scheduler.nowMs - began;
    };
    dialed.stream.write(Buffer.alloc(1));
    dialed.stream.write(Buffer.alloc(1_000));
    const first = await until(1);
    expect(first).toBeGreaterThanOrEqual(5);
    expect(first).toBeLessThanOrEqual(8 + 1);
    const last = await until(1_001);
    expect(last - first).toBeGreaterThanOrEqual(100);
    expect(last - first).toBeLessThan(120);
  });

  test('a cut direction holds bytes back until it heals; the other goes on', async () => {
    const { scheduler, network, dialed, other } = await connected();
    network.cut('a', 'b');
    dialed.stream.write(Buffer.from('late'));
    other.stream.write(Buffer.from('now'));
    await scheduler.run(scheduler.nowMs + 1_000);
    expect([text(dialed), text(other)]).toEqual(['now', '']);
    network.heal('a', 'b');
    await scheduler.run(scheduler.nowMs + 50);
    expect(text(other)).toBe('late');
  });

  test('a destroyed connection is a reset for the other side, after a cut heals too', async () => {
    const { scheduler, network, dialed, other } = await connected();
    network.partition(['a'], ['b']);
    dialed.stream.destroy();
    await scheduler.run(scheduler.nowMs + 50);
    expect([dialed.events, other.events]).toEqual([['close clean'], []]);
    network.healAll();
    await scheduler.run(scheduler.nowMs + 50);
    expect(other.events).toEqual(['close ECONNRESET']);
  });

  test('end delivers what was written, then closes both sides cleanly', async () => {
    const { scheduler, dialed, other } = await connected();
    dialed.stream.write(Buffer.from('last words'));
    dialed.stream.end();
    await scheduler.run(scheduler.nowMs + 50);
    expect(text(other)).toBe('last words');
    expect([dialed.events, other.events]).toEqual([['close clean'], ['close clean']]);
  });

  test('a reader that pauses makes the writer wait for a drain', async () => {
    const { scheduler, dialed, other } = await connected();
    other.stream.pause();
    let accepted = 0;
    while (dialed.stream.write(Buffer.alloc(8_192)) && accepted < 100) accepted++;
    expect(accepted).toBeLessThan(20);
    await scheduler.run(scheduler.nowMs + 50);
    expect(dialed.events).toEqual([]);
    other.stream.resume();
    await scheduler.run(scheduler.nowMs + 50);
    expect(dialed.events).toEqual(['drain']);
    expect(dialed.stream.bufferedBytes).toBe(0);
  });

  test('a crash resets; a silent one leaves the other half open until a new life answers', async () => {
    const loud = await connected();
    loud.network.crash('b');
    await loud.scheduler.run(loud.scheduler.nowMs + 50);
    expect(loud.dialed.events).toEqual(['close ECONNRESET']);
    expect(loud.other.events).toEqual([]);

    const silent = await connected();
    silent.network.crash('b', { silent: true });
    silent.dialed.stream.write(Buffer.from('hello?'));
    await silent.scheduler.run(silent.scheduler.nowMs + 500);
    expect(silent.dialed.events).toEqual([]);
    silent.network.node('b');
    silent.dialed.stream.write(Buffer.from('hello?'));
    await silent.scheduler.run(silent.scheduler.nowMs + 50);
    expect(silent.dialed.events).toEqual(['close ECONNRESET']);
  });

  test('reset breaks both sides', async () => {
    const { scheduler, network, dialed, other } = await connected();
    network.reset('a', 'b');
    await scheduler.run(scheduler.nowMs + 50);
    expect([dialed.events, other.events]).toEqual([['close ECONNRESET'], ['close ECONNRESET']]);
  });
});

describe('a simulated connection that is late', () => {
  test('lets others overtake it, and nothing of its own', async () => {
    const { scheduler, network, a, port, accepted, dialed, other } = await connected();
    const [end] = network.endsOf('a', 'b');
    end!.lag(500);
    dialed.stream.write(Buffer.from('late '));
    end!.lag(0);
    dialed.stream.write(Buffer.from('later'));
    const next = await open(scheduler, a, port);
    next.write(Buffer.from('soon'));
    await scheduler.run(scheduler.nowMs + 100);
    expect([text(other), text(accepted[1]!)]).toEqual(['', 'soon']);
    await scheduler.run(scheduler.nowMs + 500);
    expect(text(other)).toBe('late later');
  });

  test('is given up on one side while what that wrote is on its way, then reset on the other', async () => {
    const { scheduler, network, a, port, accepted, dialed, other } = await connected();
    const [end] = network.endsOf('a', 'b');
    end!.lag(500);
    dialed.stream.write(Buffer.from('last words'));
    end!.linger(Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' }));
    const next = await open(scheduler, a, port);
    next.write(Buffer.from('soon'));
    other.stream.write(Buffer.from('to nobody'));
    await scheduler.run(scheduler.nowMs + 100);
    expect([dialed.events, other.events]).toEqual([['close ETIMEDOUT'], []]);
    expect([text(dialed), text(other), text(accepted[1]!)]).toEqual(['', '', 'soon']);
    await scheduler.run(scheduler.nowMs + 500);
    expect(text(other)).toBe('last words');
    expect(other.events).toEqual(['close ECONNRESET']);
    expect(network.endsOf('b', 'a')).toHaveLength(1);
  });
});

describe('a simulated connect', () => {
  test('is refused where nobody listens, and times out behind a cut', async () => {
    const w = await world();
    expect(await failure(w, w.a, 1)).toBe('ECONNREFUSED');
    w.network.cut('b', 'a');
    expect(await failure(w, w.a, w.port)).toBe('ETIMEDOUT');
    w.network.healAll();
    w.network.crash('b');
    expect(await failure(w, w.a, w.port)).toBe('ECONNREFUSED');
  });

  test('a port is taken once', async () => {
    const w = await world();
    await expect(w.b.listen({ host: 'b', port: w.port }, () => {})).rejects.toThrow(/in use/);
  });
});
