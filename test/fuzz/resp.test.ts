/** Requests of any bytes, cut anywhere: commands, or one protocol error in Redis's words. */
import { connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRequestParser } from '../../src/datanode/resp/request-parser.ts';
import { hasRedis, RealRedis } from '../datanode/commands/real-redis.ts';
import { type Doors, openDoors } from '../datanode/server/doors.ts';
import { scale } from '../scale.ts';
import { chunksOf, cuts } from './bytes.ts';
import { check, checkAsync } from './property.ts';
import { anyCommand, bentStream, commands, echo, protocolError, wireOf } from './resp-streams.ts';
import { parse } from './rooms/resp.ts';

const runs = scale.fuzzResp;

const bytesOf = (stream: Buffer) => Array.from(stream, (_, at) => stream.subarray(at, at + 1));

describe('the parser', () => {
  test('gives the commands that were sent, byte by byte and cut anywhere', () => {
    check(
      runs,
      fc.property(commands, cuts, (sent, at) => {
        const stream = Buffer.concat(sent.map(wireOf));
        const requests = sent.map((args) => args.map((arg) => arg.toString('latin1')));
        expect(parse(bytesOf(stream))).toEqual({ requests, errors: [] });
        expect(parse(chunksOf(stream, at))).toEqual({ requests, errors: [] });
      }),
    );
  });

  test('understands a stream the same however it is cut, with one error at most', () => {
    check(
      runs,
      fc.property(bentStream(anyCommand), cuts, (stream, at) => {
        const whole = parse([stream]);
        expect(whole.errors.length).toBeLessThanOrEqual(1);
        for (const error of whole.errors) expect(error).toMatch(protocolError);
        expect(parse(chunksOf(stream, at))).toEqual(whole);
        if (stream.length < 10_000) expect(parse(bytesOf(stream))).toEqual(whole);
      }),
    );
  });

  test('holds no more of a stream than has come of it', () => {
    setFlagsFromString('--expose-gc');
    const gc = runInNewContext('gc') as () => void;
    const held: unknown[] = [];
    let fed = 0;
    gc();
    const before = process.memoryUsage().arrayBuffers;
    check(
      runs,
      fc.property(bentStream(anyCommand), cuts, (stream, at) => {
        const parser = createRequestParser({
          bulkBytesMax: 512 * 1024 * 1024,
          onRequest: () => {},
          onProtocolError: () => {},
        });
        for (const chunk of chunksOf(stream, at)) parser.feed(Buffer.from(chunk));
        held.push(parser);
        fed += stream.length;
      }),
    );
    gc();
    const grown = process.memoryUsage().arrayBuffers - before;
    expect(held.length).toBeGreaterThanOrEqual(runs);
    expect(grown).toBeLessThan(2 * fed + 16 * 1024 * 1024);
  });
});

/** A connection that keeps what it is told. */
class Talk {
  readonly socket: Socket;
  text = '';
  closed = false;

  constructor(to: { port: number } | { path: string }) {
    this.socket = connect({ host: '127.0.0.1', ...to });
    this.socket.on('data', (chunk) => {
      this.text += chunk.toString('latin1');
    });
    this.socket.on('close', () => {
      this.closed = true;
    });
    this.socket.on('error', () => {});
  }
}

async function until(holds: () => boolean, limitMs: number): Promise<boolean> {
  const endMs = performance.now() + limitMs;
  while (!holds()) {
    if (performance.now() > endMs) return false;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return true;
}

const shown = (talk: Talk) => `${talk.text}${talk.closed ? '(closed)' : ''}`;

/** Bytes that a stock server and we print alike: it stops reading names and lines at a zero. */
const readable = (stream: Buffer) => Buffer.from(stream.map((byte) => byte & 0x7f || 0x7a));

/** Not what we refuse earlier: requests of very many arguments. */
const isComparable = (stream: Buffer) => !/\*\d{7,10}\r/.test(stream.toString('latin1'));

let doors: Doors;
beforeAll(async () => {
  doors = await openDoors();
});
afterAll(() => doors.close());

async function expectAlive(): Promise<void> {
  const talk = new Talk({ port: doors.gateway });
  talk.socket.write('PING\r\n*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n');
  expect(await until(() => talk.text === '+PONG\r\n$2\r\nhi\r\n', 20_000), talk.text).toBe(true);
  talk.socket.destroy();
}

const errorReply = new RegExp(`-ERR (${protocolError.source.slice(1, -1)})\r\n$`);

describe('the server', () => {
  test('outlives bent streams, closes after a protocol error, and answers the next', async () => {
    const door = fc.constantFrom('gateway' as const, 'cluster' as const);
    const some = fc.array(fc.tuple(bentStream(anyCommand), cuts, door), {
      minLength: 10,
      maxLength: 10,
    });
    await checkAsync(
      Math.ceil(scale.fuzzRespStreams / 10),
      fc.asyncProperty(some, async (streams) => {
        const talks = streams.map(([stream, at, which]) => {
          const talk = new Talk({ port: doors[which] });
          for (const chunk of chunksOf(stream, at)) talk.socket.write(chunk);
          return { talk, error: parse([stream]).errors[0] };
        });
        for (const { talk, error } of talks) {
          if (error === undefined) continue;
          expect(await until(() => talk.closed, 20_000), `open after ${error}`).toBe(true);
          const told = errorReply.exec(talk.text)?.[1] ?? '';
          // An error reply is one line, as in Redis.
          const line = error.replace(/[\r\n]/g, ' ');
          expect(told).toBe(Buffer.from(line).toString('latin1'));
        }
        await expectAlive();
        for (const { talk } of talks) talk.socket.destroy();
      }),
    );
  });

  test.skipIf(!hasRedis)('answers a stream of requests as a stock server does', async () => {
    const redis = await RealRedis.start();
    const some = fc.array(bentStream(echo).map(readable).filter(isComparable), {
      minLength: 20,
      maxLength: 20,
    });
    try {
      await checkAsync(
        Math.ceil(scale.fuzzRespStreams / 20),
        fc.asyncProperty(some, async (streams) => {
          const pairs = streams.map((stream) => {
            const ours = new Talk({ port: doors.gateway });
            const theirs = new Talk({ path: redis.path });
            for (const talk of [ours, theirs]) talk.socket.write(stream);
            return { ours, theirs };
          });
          await new Promise((resolve) => setTimeout(resolve, 50));
          const same = () => pairs.every(({ ours, theirs }) => shown(ours) === shown(theirs));
          await until(same, 5_000);
          for (const { ours, theirs } of pairs) expect(shown(ours)).toBe(shown(theirs));
          for (const { ours, theirs } of pairs) {
            for (const talk of [ours, theirs]) talk.socket.destroy();
          }
        }),
      );
    } finally {
      await redis.stop();
    }
  });
});
