/**
 * Events of keys: random writes of each family to a whole node and to a stock redis-server, and the
 * messages that a subscriber to all of __keyspace@0__ and __keyevent@0__ gets from either, in order
 * and byte for byte.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hasRedis } from '../datanode/commands/real-redis.ts';
import { wire } from '../datanode/server/doors.ts';
import { scale } from '../scale.ts';
import { besideRedis, openNode, Pair } from './beside-redis.ts';
import { compareSequences, SEQUENCES_TIMEOUT_MS } from './sequences.ts';
import { LAST_OF_ALL } from './stream-words.ts';
import { option, words, wordsAndMore } from './words.ts';

/** All of one slot: many commands have two keys. */
const key = fc.constantFrom('{t}1', '{t}2', '{t}3');
const member = fc.constantFrom('a', 'b', 'c', '1', '2');
const number = fc.integer({ min: -4, max: 6 }).map(String);
const score = fc.oneof(number, fc.constantFrom('0.5', 'inf', 'x'));
const end = option('left', 'right');
const id = fc.tuple(fc.nat(4), fc.nat(3)).map((both) => both.join('-'));
const newId = fc.oneof({ weight: 3, arbitrary: fc.nat(4).map((ms) => `${ms}-*`) }, id);
const pairs = fc.constantFrom('13.36 38.11', '15.08 37.50', '-122 37').map((text) => text);

const anyKey = fc.oneof(
  wordsAndMore(['DEL', key], key, 1),
  words('RENAME', key, key),
  words('RENAMENX', key, key),
  wordsAndMore(['COPY', key, key], option('replace'), 1),
  words('EXPIRE', key, fc.constantFrom('1000', '-1')),
  words('PERSIST', key),
);

const families: Readonly<Record<string, fc.Arbitrary<string[]>>> = {
  strings: fc.oneof(
    words('SET', key, member),
    wordsAndMore(['SET', key, member], option('nx', 'xx', 'keepttl', 'get'), 1),
    words('SET', key, member, 'EX', '1000'),
    words('GETSET', key, member),
    words('GETDEL', key),
    words('GETEX', key, 'EX', '1000'),
    words('GETEX', key, 'PERSIST'),
    words('MSET', key, member, key, member),
    words('MSETNX', key, member, key, member),
    words('INCRBY', key, number),
    words('INCRBYFLOAT', key, number),
    words('APPEND', key, member),
    words('SETRANGE', key, number, member),
    words('SETBIT', key, number, fc.constantFrom('0', '1')),
    words('BITFIELD', key, 'SET', 'u4', number, number),
    words('BITFIELD', key, 'OVERFLOW', option('fail', 'sat'), 'INCRBY', 'i4', number, number),
    words('BITOP', option('and', 'or'), key, key, key),
    wordsAndMore(['PFADD', key], member, 2),
    words('PFMERGE', key, key),
    words('SADD', key, member),
  ),
  lists: fc.oneof(
    { weight: 3, arbitrary: wordsAndMore(['RPUSH', key, member], member, 3) },
    wordsAndMore(['LPUSH', key, member], member, 2),
    words('LPUSHX', key, member),
    words('RPUSHX', key, member),
    words('LPOP', key),
    words('RPOP', key, number),
    words('LINSERT', key, option('before', 'after'), member, member),
    words('LSET', key, number, member),
    words('LREM', key, number, member),
    words('LTRIM', key, number, number),
    { weight: 2, arbitrary: words('LMOVE', key, key, end, end) },
    words('RPOPLPUSH', key, key),
    words('LMPOP', '2', key, key, end, 'COUNT', number),
    words('SORT', key, 'STORE', key),
    words('SORT', key, 'ALPHA', 'STORE', key),
  ),
  sets: fc.oneof(
    { weight: 3, arbitrary: wordsAndMore(['SADD', key, member], member, 3) },
    { weight: 2, arbitrary: wordsAndMore(['SREM', key, member], member, 3) },
    { weight: 2, arbitrary: words('SMOVE', key, key, member) },
    words('SPOP', key, fc.constantFrom('0', '100')),
    wordsAndMore(['SINTERSTORE', key, key], key, 1),
    wordsAndMore(['SUNIONSTORE', key, key], key, 1),
    wordsAndMore(['SDIFFSTORE', key, key], key, 1),
  ),
  hashes: fc.oneof(
    { weight: 3, arbitrary: words('HSET', key, member, member) },
    words('HMSET', key, member, member, member, member),
    words('HSETNX', key, member, member),
    words('HINCRBY', key, member, number),
    words('HINCRBYFLOAT', key, member, number),
    { weight: 2, arbitrary: wordsAndMore(['HDEL', key, member], member, 3) },
  ),
  'sorted sets': fc.oneof(
    { weight: 3, arbitrary: words('ZADD', key, score, member, score, member) },
    words('ZADD', key, option('nx', 'xx', 'gt', 'lt', 'ch', 'incr'), score, member),
    words('ZINCRBY', key, number, member),
    wordsAndMore(['ZREM', key, member], member, 3),
    words('ZREMRANGEBYRANK', key, number, number),
    words('ZREMRANGEBYSCORE', key, number, number),
    words('ZREMRANGEBYLEX', key, '-', fc.constantFrom('[a', '(c', '+')),
    wordsAndMore(['ZPOPMIN', key], number, 1),
    wordsAndMore(['ZPOPMAX', key], number, 1),
    words('ZMPOP', '2', key, key, option('min', 'max')),
    words('ZRANGESTORE', key, key, number, number),
    words('ZUNIONSTORE', key, '2', key, key),
    words('ZINTERSTORE', key, '2', key, key),
    words('ZDIFFSTORE', key, '2', key, key),
    words('GEOADD', key, pairs, member).map((line) => line.flatMap((word) => word.split(' '))),
    words('GEOSEARCHSTORE', key, key, 'FROMLONLAT', '14', '38', 'BYRADIUS', '200', 'km'),
    words('GEORADIUS', key, '14', '38', '200', 'km', option('store', 'storedist'), key),
  ),
  streams: fc.oneof(
    { weight: 6, arbitrary: words('XADD', key, newId, 'f', member) },
    words('XADD', key, 'NOMKSTREAM', newId, 'f', member),
    words('XADD', key, 'MAXLEN', number, newId, 'f', member),
    words('XADD', key, 'MINID', newId, newId, 'f', member),
    { weight: 2, arbitrary: wordsAndMore(['XDEL', key, id], id, 3) },
    words('XTRIM', key, 'MAXLEN', number),
    words('XTRIM', key, 'MINID', id),
    words('XSETID', key, fc.constant(LAST_OF_ALL)),
    words('XGROUP', 'CREATE', key, member, id),
    { weight: 3, arbitrary: words('XGROUP', 'CREATE', key, member, id, 'MKSTREAM') },
    words('XGROUP', 'CREATECONSUMER', key, member, member),
    words('XGROUP', 'DELCONSUMER', key, member, member),
    words('XGROUP', 'DESTROY', key, member),
    words('XGROUP', 'SETID', key, member, id),
    { weight: 4, arbitrary: words('XREADGROUP', 'GROUP', member, member, 'STREAMS', key, '>') },
    words('XREADGROUP', 'GROUP', member, member, 'NOACK', 'STREAMS', key, '>'),
    words('XREADGROUP', 'GROUP', member, member, 'STREAMS', key, '0'),
    wordsAndMore(['XACK', key, member, id], id, 3),
    { weight: 2, arbitrary: words('XCLAIM', key, member, member, '0', id) },
    words('XCLAIM', key, member, member, '0', id, 'FORCE'),
    words('XAUTOCLAIM', key, member, member, '0', '-'),
  ),
};

/** From 7.2 on a consumer is made of who asks, 7.0 makes one of who is given something. */
function withConsumer(line: readonly string[]): string[][] {
  const [name = '', first = '', second = '', third = ''] = line;
  const make = (...of: string[]) => [['XGROUP', 'CREATECONSUMER', ...of], [...line]];
  if (name === 'XCLAIM' || name === 'XAUTOCLAIM') return make(first, second, third);
  if (name === 'XREADGROUP') return make(line[line.indexOf('STREAMS') + 1]!, second, third);
  return [[...line]];
}

interface Unit {
  readonly lines: readonly string[][];
  /** Inside MULTI and EXEC. */
  readonly atomic: boolean;
}

function unitOf(family: fc.Arbitrary<string[]>): fc.Arbitrary<Unit> {
  const line = fc.oneof({ weight: 5, arbitrary: family }, anyKey);
  return fc.oneof(
    {
      weight: 5,
      arbitrary: line.map((one) => ({ lines: withConsumer(one), atomic: false })),
    },
    fc
      .array(line, { minLength: 1, maxLength: 4 })
      .map((lines) => ({ lines: lines.flatMap(withConsumer), atomic: true })),
  );
}

/** A subscriber to everything, and what it was sent. */
class Listener {
  readonly #socket: Socket;
  #text = '';
  #heard: (() => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#text += chunk.toString('latin1');
      this.#heard?.();
    });
  }

  static async open(to: string | number): Promise<Listener> {
    const socket = typeof to === 'string' ? connect(to) : connect(to, '127.0.0.1');
    await once(socket, 'connect');
    const listener = new Listener(socket);
    socket.write(wire('PSUBSCRIBE __keyspace@0__:* __keyevent@0__:*') + wire('SUBSCRIBE marks'));
    await listener.until('marks\r\n:3\r\n');
    return listener;
  }

  /** What came up to `mark`, taken away. */
  async until(mark: string): Promise<string> {
    for (;;) {
      const at = this.#text.indexOf(mark);
      if (at >= 0) {
        const told = this.#text.slice(0, at);
        this.#text = this.#text.slice(at + mark.length);
        return told;
      }
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
  }

  close(): void {
    this.#socket.destroy();
  }
}

describe.skipIf(!hasRedis)('events of keys as redis-server publishes them', () => {
  const servers = besideRedis(openNode);

  test.each(Object.entries(families))(
    '%s',
    async (name, family) => {
      const pair = await Pair.connect(servers, 2);
      await pair.ask(['CONFIG', 'SET', 'notify-keyspace-events', 'KEAn']);
      const listeners = await Promise.all([servers.ours, servers.theirs].map(Listener.open));
      let marks = 0;
      const told = async () => {
        const payload = `mark-${name}-${++marks}`;
        await pair.ask(['PUBLISH', 'marks', payload]);
        return Promise.all(listeners.map((listener) => listener.until(`${payload}\r\n`)));
      };
      let bytes = 0;
      const count = scale.keyEventCommands / Object.keys(families).length;
      const commands = await compareSequences(name, unitOf(family), count, async (units) => {
        await pair.ask(['FLUSHALL']);
        await told();
        for (const { lines, atomic } of units) {
          for (const line of atomic ? [['MULTI'], ...lines, ['EXEC']] : lines) await pair.ask(line);
          const [ours, theirs] = await told();
          expect(ours, lines.map((line) => line.join(' ')).join('; ')).toBe(theirs);
          bytes += theirs!.length;
        }
        return units.reduce((sum, { lines }) => sum + lines.length, 0);
      });
      process.stdout.write(`${name}: ${bytes} bytes of messages compared\n`);
      expect(bytes).toBeGreaterThan(commands * 10);
      for (const one of [pair, ...listeners]) one.close();
    },
    SEQUENCES_TIMEOUT_MS,
  );
});
