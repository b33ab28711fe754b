/** Transports whose nodes go over to TLS, one after the other, and whom they do not let in. */
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { type LogFields, silentLogger } from '../../../src/common/log.ts';
import { tcpNetwork } from '../../../src/common/tcp.ts';
import type { PeerCredentials } from '../../../src/common/tls/mutual-network.ts';
import { type NodesMode, secureNetwork } from '../../../src/datanode/transport/secure-network.ts';
import { TestAuthority } from '../../common/tls/authority.ts';
import { everyMessage } from './messages.ts';
import { allReachable, eventually, introduce, startNode, type TestNode } from './nodes.ts';

const authority = new TestAuthority();
const foreign = new TestAuthority();
const own = authority.issue('node');
const nodes: TestNode[] = [];

afterEach(async () => {
  for (const node of nodes.splice(0)) await node.transport.close();
});

interface Told {
  readonly refused: LogFields[];
}

type Options = Parameters<typeof startNode>[1];

async function start(
  name: string,
  mode: NodesMode | 'off',
  credentials: PeerCredentials = own,
  options: Options = {},
): Promise<TestNode & Told & { count(): number }> {
  const refused: LogFields[] = [];
  let count = 0;
  const logger = { ...silentLogger, warn: (_: string, fields = {}) => refused.push(fields) };
  const secure = () =>
    secureNetwork({
      mode: mode as NodesMode,
      credentials: () => credentials,
      ...{ clock: systemClock, logger },
      onRefused: () => count++,
    });
  const network = mode === 'off' ? tcpNetwork : secure();
  const node = await startNode(name, { network, ...options });
  nodes.push(node);
  return { ...node, refused, count: () => count };
}

const reasons = ({ warnings }: TestNode) => warnings.map(({ fields }) => String(fields['reason']));

describe('while a cluster goes over, nodes of two steps talk to each other', () => {
  test.each([
    ['off', 'accept'],
    ['accept', 'accept'],
    ['accept', 'dial'],
    ['dial', 'dial'],
    ['dial', 'required'],
    ['required', 'required'],
  ] as const)('%s and %s', async (one, other) => {
    const [a, b] = [await start('a', one), await start('b', other)];
    introduce(a, b);
    await eventually('a and b connect', () => allReachable(a, b));
    for (const message of everyMessage) {
      a.transport.send('b', 7, message);
      b.transport.send('a', 7, message);
    }
    await eventually('all small ones arrive', () =>
      [a, b].every(({ received }) => received.length >= everyMessage.length / 2),
    );
    const answer = await a.transport.request('b', Buffer.alloc(3_000_000, 7), 10_000);
    expect(answer.equals(Buffer.alloc(3_000_000, 7))).toBe(true);
    expect([a.count(), b.count()]).toEqual([0, 0]);
  });
});

describe('who leaves a step out is told what is wrong', () => {
  test('plain to one that requires TLS', async () => {
    const [a, b] = [await start('a', 'accept'), await start('b', 'required')];
    introduce(a, b);
    await eventually('both dial in vain', () => reasons(a).length > 0 && b.count() > 2);
    expect(new Set(reasons(a))).toEqual(new Set(['refused: tls.nodes: it speaks no TLS']));
    expect(b.refused).toEqual([{ remote: expect.any(String), reason: 'it speaks no TLS' }]);
    expect(allReachable(a, b)).toBe(false);
  });

  test('TLS to one that is off', async () => {
    const [a, b] = [await start('a', 'off'), await start('b', 'dial')];
    introduce(a, b);
    await eventually('b dials in vain', () => reasons(b).length > 0);
    expect(new Set(reasons(b))).toEqual(new Set(['it speaks no TLS']));
  });
});

test.each([
  ['of another authority', () => foreign.issue('c')],
  ['that has expired', () => authority.issue('c', { madeDaysAgo: 31 })],
  ['of a client', () => authority.issue('c', { clientOnly: true })],
])('one with a certificate %s is kept out, and the others go on', async (_, issue) => {
  const a = await start('a', 'required');
  const b = await start('b', 'required');
  const c = await start('c', 'required', { ...issue(), authorities: authority.certificate });
  introduce(a, b, c);
  await eventually('a and b connect', () => allReachable(a, b));
  await eventually('c is refused', () => a.count() > 5 && reasons(a).length > 0);
  // what is refused all the time is told once
  expect(a.refused).toHaveLength(1);
  expect(reasons(c)).not.toEqual([]);
  expect(c.events).toEqual([]);
  a.transport.send('b', 1, everyMessage[0]!);
  await eventually('it arrives', () => b.received.length === 1);
});

test('one that is quiet under TLS is missed as soon as another', async () => {
  const [a, b] = [await start('a', 'required'), await start('b', 'required')];
  introduce(a, b);
  await eventually('a and b connect', () => allReachable(a, b));
  await b.transport.close();
  await eventually('a misses b', () => !a.transport.isReachable('b'));
  const again = await start('b', 'required', own, { port: b.address.port });
  introduce(a, again);
  await eventually('they connect again', () => allReachable(a, again));
});
