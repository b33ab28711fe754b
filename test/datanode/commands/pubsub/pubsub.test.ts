/** Commands of pub/sub on one node; connections and peers have tests of their own. */
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { encodePeerBody } from '../../../../src/datanode/pubsub/peer-codec.ts';
import { encodeReply } from '../../../../src/datanode/resp/encode-reply.ts';
import type { Reply } from '../../../../src/datanode/resp/reply.ts';
import { FakeNode } from '../fake-node.ts';
import { ask } from '../node-text.ts';
import { hasRedis, RealRedis } from '../real-redis.ts';
import { replyText } from '../reply-text.ts';

let node: FakeNode;
beforeEach(() => {
  node = new FakeNode();
});

const push = (mark: string, ...items: readonly (string | number)[]) =>
  `${mark}${items.length}\r\n` +
  items
    .map((item) => (typeof item === 'number' ? `:${item}\r\n` : `$${item.length}\r\n${item}\r\n`))
    .join('');

test('SUBSCRIBE, PSUBSCRIBE and SSUBSCRIBE confirm each name with a count', async () => {
  const names = push('*', 'subscribe', 'a', 1) + push('*', 'subscribe', 'b', 2);
  expect(await ask(node, 'SUBSCRIBE a b')).toBe(names);
  expect(await ask(node, 'PSUBSCRIBE a*')).toBe(push('*', 'psubscribe', 'a*', 3));
  expect(await ask(node, 'SSUBSCRIBE a')).toBe(push('*', 'ssubscribe', 'a', 1));
  node.session.protocol = 3;
  expect(await ask(node, 'SUBSCRIBE c')).toBe(push('>', 'subscribe', 'c', 4));
});

test('UNSUBSCRIBE, PUNSUBSCRIBE and SUNSUBSCRIBE leave what is named, or everything', async () => {
  await ask(node, 'SUBSCRIBE a b');
  await ask(node, 'PSUBSCRIBE p');
  await ask(node, 'SSUBSCRIBE s');
  expect(await ask(node, 'UNSUBSCRIBE b x')).toBe(
    push('*', 'unsubscribe', 'b', 2) + push('*', 'unsubscribe', 'x', 2),
  );
  expect(await ask(node, 'PUNSUBSCRIBE')).toBe(push('*', 'punsubscribe', 'p', 1));
  expect(await ask(node, 'SUNSUBSCRIBE')).toBe(push('*', 'sunsubscribe', 's', 0));
  expect(await ask(node, 'UNSUBSCRIBE')).toBe(push('*', 'unsubscribe', 'a', 0));
  expect(await ask(node, 'UNSUBSCRIBE')).toBe('*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n');
});

test('PUBSUB NUMPAT counts patterns without a look at each', async () => {
  await ask(node, 'PSUBSCRIBE a* b*');
  const names = vi.spyOn(node.pubsub, 'names');
  expect(await ask(node, 'PUBSUB NUMPAT')).toBe(':2\r\n');
  expect(names).not.toHaveBeenCalled();
});

describe('PUBSUB tells', () => {
  const asks = ['NUMSUB a', 'SHARDNUMSUB s', 'NUMPAT', 'CHANNELS', 'SHARDCHANNELS'];
  const numbered = (name: string, count: number) => push('*', name, count);

  beforeEach(async () => {
    await ask(node, 'SUBSCRIBE a');
    await ask(node, 'PSUBSCRIBE p*');
    await ask(node, 'SSUBSCRIBE s');
    const counts = (['channel', 'pattern', 'shard'] as const).map((kind) => {
      const name = Buffer.from({ channel: 'a', pattern: 'q*', shard: 's' }[kind]);
      return { kind, name, count: 2 };
    });
    const body = encodePeerBody({ type: 'counts', anew: true, counts, version: 0 });
    node.pubsub.onPost('peer', body, { pause: () => {}, resume: () => {} });
  });

  test.for([
    ['gateway', [numbered('a', 3), numbered('s', 3), ':2\r\n', push('*', 'a'), push('*', 's')]],
    ['cluster', [numbered('a', 1), numbered('s', 1), ':1\r\n', push('*', 'a'), push('*', 's')]],
    ['follower', [numbered('a', 0), numbered('s', 0), ':0\r\n', '*0\r\n', '*0\r\n']],
  ] as const)(
    'of all at the gateway port, of a node where clients add up (%s)',
    async ([door, answers]) => {
      Object.assign(node.session, { door });
      for (const [at, name] of asks.entries()) {
        expect(await ask(node, `PUBSUB ${name}`)).toBe(answers[at]);
      }
    },
  );
});

test('PUBLISH and SPUBLISH reach who listens, and say how many', async () => {
  await ask(node, 'SUBSCRIBE a');
  await ask(node, 'PSUBSCRIBE *');
  await ask(node, 'SSUBSCRIBE a');
  expect(await ask(node, 'PUBLISH a hi')).toBe(':2\r\n');
  expect(await ask(node, 'SPUBLISH a hi')).toBe(':1\r\n');
  expect(await ask(node, 'SPUBLISH b hi')).toBe(':0\r\n');
  expect(node.session.deliveries.map((one) => one.encoded(2).toString())).toEqual([
    push('*', 'message', 'a', 'hi'),
    push('*', 'pmessage', '*', 'a', 'hi'),
    push('*', 'smessage', 'a', 'hi'),
  ]);
});

test('PING has a form of its own for subscribers in RESP2; RESET ends it', async () => {
  await ask(node, 'SUBSCRIBE a');
  expect(await ask(node, 'PING')).toBe(push('*', 'pong', ''));
  expect(await ask(node, 'PING hi')).toBe(push('*', 'pong', 'hi'));
  node.session.protocol = 3;
  expect(await ask(node, 'PING')).toBe('+PONG\r\n');
  expect(await ask(node, 'RESET')).toBe('+RESET\r\n');
  expect(node.session.protocol).toBe(2);
  expect(await ask(node, 'PING')).toBe('+PONG\r\n');
  expect(await ask(node, 'PUBLISH a hi')).toBe(':0\r\n');
});

test('CLIENT INFO and CLIENT LIST TYPE tell who subscribes', async () => {
  expect(await ask(node, 'CLIENT LIST TYPE pubsub')).toBe('$0\r\n\r\n');
  await ask(node, 'SUBSCRIBE a b');
  await ask(node, 'SSUBSCRIBE s');
  expect(await ask(node, 'CLIENT INFO')).toMatch(/ flags=P .* sub=2 psub=0 ssub=1 multi=-1 /);
  expect((await ask(node, 'CLIENT LIST TYPE pubsub')).match(/id=/g)).toHaveLength(1);
  expect((await ask(node, 'CLIENT LIST TYPE normal')).match(/id=/g)).toHaveLength(2);
  expect(await ask(node, 'CLIENT KILL TYPE pubsub SKIPME no')).toBe(':1\r\n');
});

test('names and patterns that take long to look for are refused everywhere', async () => {
  const long = 'c'.repeat(65_537);
  const channel = '-ERR a channel name of 65537 bytes is longer than 65536\r\n';
  const pattern = '-ERR a pattern of 65537 bytes is longer than 65536\r\n';
  expect(await ask(node, `PUBLISH ${long} x`)).toBe(channel);
  expect(await ask(node, `SPUBLISH ${long} x`)).toBe(channel);
  expect(await ask(node, `PUBSUB CHANNELS ${long}`)).toBe(pattern);
  expect(await ask(node, `CONFIG GET ${long}`)).toBe(pattern);
  expect(await ask(node, `COMMAND LIST FILTERBY PATTERN ${long}`)).toBe(pattern);
});

test('PUBSUB HELP lists the subcommands', async () => {
  const help = await ask(node, 'PUBSUB HELP');
  for (const name of ['CHANNELS', 'NUMSUB', 'NUMPAT', 'SHARDCHANNELS', 'SHARDNUMSUB', 'HELP']) {
    expect(help).toContain(`+${name}\r\n`);
  }
});

describe.skipIf(!hasRedis)('COMMAND says what redis-server says', () => {
  let redis: RealRedis;
  beforeAll(async () => {
    redis = await RealRedis.start();
  });
  afterAll(() => redis.stop());

  const names = ['subscribe', 'unsubscribe', 'psubscribe', 'punsubscribe', 'ssubscribe'];
  names.push('sunsubscribe', 'publish', 'spublish', 'pubsub|channels', 'pubsub|numsub');
  names.push('pubsub|numpat', 'pubsub|shardchannels', 'pubsub|shardnumsub', 'pubsub|help');

  test.each(names)('of %s', async (name) => {
    const [own, theirs] = await Promise.all([
      node.call('COMMAND', 'INFO', name),
      redis.call('COMMAND', 'INFO', name),
    ]);
    // Flags and categories are sets: their order means nothing.
    const lines = (reply: Reply) => encodeReply(reply, 2).toString().split('\r\n').sort();
    expect(lines(own)).toEqual(lines(theirs));
  });

  test('GETKEYS: a shard channel is no key', async () => {
    const args = ['COMMAND', 'GETKEYS', 'SPUBLISH', 'a', 'b'];
    expect(replyText(await node.call(...args))).toBe(replyText(await redis.call(...args)));
  });
});
