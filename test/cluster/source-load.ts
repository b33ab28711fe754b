/** Keys in all encodings of a Redis, and what changes them in every way that a stream tells. */
import type { Redis } from 'ioredis';

const HOUR_MS = 3_600_000;

/** Small and large values of every type, with and without deadlines. */
export async function fillEverything(client: Redis): Promise<void> {
  const batch = client.pipeline();
  for (let at = 0; at < 120; at++) batch.set(`text:${at}`, `text ${at} `.repeat(at));
  for (let at = 0; at < 30; at++) batch.set(`late:${at}`, String(at), 'PX', HOUR_MS + at);
  batch.set('bytes', Buffer.from([0, 255, 13, 10, 128]));
  batch.rpush('list:small', 'a', '1', '-70000', 'x'.repeat(100));
  batch.rpush('list:nodes', ...Array.from({ length: 3_000 }, (_, at) => `element ${at}`));
  batch.rpush('list:plain', 'x'.repeat(20_000), 'y');
  batch.sadd('set:numbers', 1, 2, 70_000, -5);
  batch.sadd('set:small', 'a', 'b');
  batch.sadd('set:table', ...Array.from({ length: 600 }, (_, at) => `member ${at}`));
  batch.hset('hash:small', { a: '1', b: 'two' });
  batch.hset('hash:table', ...Array.from({ length: 1_200 }, (_, at) => `item ${at}`));
  batch.zadd('zset:small', 1, 'a', 2.5, 'b', '-inf', 'c', '+inf', 'd');
  batch.zadd('zset:table', ...Array.from({ length: 600 }, (_, at) => [at / 3, `m${at}`]).flat());
  batch.pexpire('zset:table', HOUR_MS);
  for (let at = 1; at <= 250; at++) batch.xadd('stream', `${at}-1`, 'field', `value ${at}`);
  batch.xgroup('CREATE', 'stream', 'group', '0');
  batch.call('XREADGROUP', 'GROUP', 'group', 'one', 'COUNT', '20', 'STREAMS', 'stream', '>');
  batch.call('XREADGROUP', 'GROUP', 'group', 'two', 'COUNT', '5', 'STREAMS', 'stream', '>');
  batch.xdel('stream', '200-1');
  await batch.exec();
  await fillLarge(client);
}

/** Beyond what leaves as one piece. */
async function fillLarge(client: Redis): Promise<void> {
  await client.call(
    'EVAL',
    `for i = 1, 3000 do
       local long = string.rep('v', 400) .. i
       redis.call('RPUSH', 'list:large', long)
       redis.call('HSET', 'hash:large', 'field ' .. i, long)
       redis.call('SADD', 'set:large', long)
       redis.call('ZADD', 'zset:large', i / 7, long)
       redis.call('XADD', 'stream:large', i .. '-1', 'field ' .. i, long)
     end
     redis.call('XGROUP', 'CREATE', 'stream:large', 'group', '0')
     redis.call('PEXPIRE', 'set:large', 7200000)`,
    '0',
  );
  const read = ['XREADGROUP', 'GROUP', 'group', 'one', 'COUNT', '100', 'STREAMS', 'stream:large'];
  await client.call(...(read as [string, ...string[]]), '>');
}

/** Writes of all kinds, one small pipeline after the other. */
export class Traffic {
  readonly #client: Redis;
  #stopped = false;
  #at = 0;

  constructor(client: Redis) {
    this.#client = client;
  }

  stop(): void {
    this.#stopped = true;
  }

  async run(): Promise<void> {
    while (!this.#stopped) {
      const batch = this.#client.pipeline();
      for (let left = 6; left > 0; left--) this.#write(batch, this.#at++);
      const results = await batch.exec();
      for (const [failure] of results ?? []) {
        if (failure !== null && !/no such key|WRONGTYPE/.test(failure.message)) throw failure;
      }
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  #write(batch: ReturnType<Redis['pipeline']>, at: number): void {
    const few = at % 7;
    const some = at % 40;
    const writes: readonly (() => unknown)[] = [
      () => batch.incr(`count:${few}`).append(`log:${few}`, `${at},`),
      () => batch.rpush(`queue:${few}`, `job ${at}`).lpop(`queue:${few}`),
      () => batch.rpush('list:nodes', at).lset('list:nodes', 3, at),
      () => batch.lmove(`queue:${few}`, `done:${few}`, 'LEFT', 'RIGHT').rpush(`queue:${few}`, at),
      () => batch.sadd(`tags:${few}`, at).spop('set:table').srem('set:small', 'a'),
      () => batch.hincrby('hash:small', 'n', 1).hincrbyfloat('hash:small', 'f', 0.5),
      () => batch.zincrby('zset:small', 1, 'a').zremrangebyrank('zset:table', 0, 0),
      () => batch.xadd('stream', 'MAXLEN', '~', 200, '*', 'at', at),
      () =>
        batch.call('XREADGROUP', 'GROUP', 'group', 'one', 'COUNT', '1', 'STREAMS', 'stream', '>'),
      () => batch.call('XAUTOCLAIM', 'stream', 'group', 'two', '0', '0', 'COUNT', '2'),
      () => batch.call('MULTI') && batch.incr(`{one}:${few}`).rpush('{one}:list', at).call('EXEC'),
      () => batch.call('MULTI') && batch.incr(`other:${few}`).set(`text:${some}`, at).call('EXEC'),
      () =>
        batch.mset(`text:${some}`, at, `text:${few}`, at).del(`late:${some}`, `text:${some + 1}`),
      () => batch.set(`moved:${few}`, at, 'PX', HOUR_MS).rename(`moved:${few}`, `there:${few}`),
      () => batch.sunionstore('all tags', 'tags:1', 'tags:2').copy(`tags:${few}`, `copy:${few}`),
      () => batch.set(`brief:${some}`, at, 'PX', 5_000_000).persist(`late:${few}`),
      () => batch.pexpire('hash:large', HOUR_MS + at).getdel(`brief:${few}`),
      () =>
        batch.call(
          'EVAL',
          "redis.call('INCR', KEYS[1]) redis.call('SET', 'x' .. ARGV[1], 1)",
          '1',
          'scripted',
          some,
        ),
      () => batch.bitop('OR', 'bits', 'text:1', 'text:2').setbit('bits', at % 999, 1),
      () => batch.publish('channel', 'message').pfadd(`seen:${few}`, at),
    ];
    writes[at % writes.length]!();
  }
}
