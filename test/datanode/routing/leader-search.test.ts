import { beforeEach, expect, test } from 'vitest';
import { KvorumError } from '../../../src/common/errors.ts';
import { limits } from '../../../src/common/limits.ts';
import type {
  CommandBatch,
  LocalPartition,
} from '../../../src/datanode/partition/entries/batch.ts';
import { refusalOf } from '../../../src/datanode/partition/entries/failed-batch.ts';
import { NOT_LED_HERE } from '../../../src/datanode/partition/entries/wait.ts';
import { OK } from '../../../src/datanode/resp/reply.ts';
import { isLeaderQuestion } from '../../../src/datanode/routing/leader-question.ts';
import { MutableRouteTable } from '../../../src/datanode/routing/route-table.ts';
import { Router } from '../../../src/datanode/routing/router.ts';
import { redirectTo } from '../../../src/datanode/server/redirect.ts';
import type { NodeRecord } from '../../../src/meta/schema.ts';
import { ManualClock } from '../raftlog/manual-clock.ts';
import { asker, company } from './company.ts';
import { partitionRecord } from './records.ts';

const GROUP = 10;
const MEMBERS = ['a', 'b', 'c'];
const record = {
  ...partitionRecord(0, 1),
  replicas: MEMBERS.map((node, at) => ({ replica: at + 1, node, incarnation: 'i' })),
};

interface Peer {
  readonly routes: MutableRouteTable;
  readonly router: Router;
  /** Of its replica; undefined: it has none. */
  led: { isLeader: boolean; term: number } | undefined;
  /** Not to be reached otherwise. */
  up: boolean;
  /** Of a version that knows no questions about leaders. */
  old: boolean;
  /** Questions about leaders that came here. */
  asked: number;
  /** Batches that came here. */
  batches: number;
}

let clock: ManualClock;
let peers: Map<string, Peer>;
/** A node without a replica; nothing tells it of leaders but what it asks. */
let outside: Peer;

function createPeer(node: string): Peer {
  const routes = new MutableRouteTable();
  routes.setPartitions([record]);
  const router = new Router({
    ...{ node, bootId: node, clock, routes, ...company(clock) },
    local: () => replicaOf(peer),
    transport: () => ({
      request: (to, body) => send(to, body),
      isReachable: (to) => peers.get(to)!.up,
    }),
  });
  const peer: Peer = {
    ...{ routes, router, led: undefined, up: true, old: false, asked: 0, batches: 0 },
  };
  return peer;
}

function replicaOf({ led }: Peer): LocalPartition | undefined {
  if (led === undefined) return undefined;
  const at = { stopped: false, ...led };
  return {
    ...{ namespace: 'default', partition: 0, id: 1, ...at },
    execute: async (batch) =>
      refusalOf(batch, at) ?? batch.lines.map(() => ({ ok: true, reply: OK })),
    wait: async () => (led.isLeader ? { kind: 'served', reply: OK } : NOT_LED_HERE),
    confirmServed: () => {},
    changes: async () => ({ kind: 'failed', code: 'NOT_LEADER', message: '' }) as const,
    fateOf: () => ({ kind: 'open' }),
  };
}

async function send(to: string, body: Buffer): Promise<Buffer> {
  const peer = peers.get(to)!;
  if (!peer.up) throw new KvorumError('PEER_UNREACHABLE', `no connection to ${to}`);
  const isQuestion = isLeaderQuestion(body);
  if (isQuestion) peer.asked++;
  else peer.batches++;
  if (isQuestion && peer.old) throw new KvorumError('BAD_FRAME', 'unknown version 72');
  return peer.router.serve(body, asker());
}

/** As raft tells the members that have a leader. */
function elect(node: string, term: number, ...known: string[]): void {
  for (const name of known) {
    const peer = peers.get(name)!;
    peer.led = { isLeader: name === node, term };
    peer.routes.setLeader(GROUP, node, term);
  }
}

function batch(kind: 'read' | 'write'): CommandBatch {
  return {
    ...{ namespace: 'default', partition: 0, group: GROUP, kind, protocol: 2, term: undefined },
    lines: [[Buffer.from(kind === 'read' ? 'GET' : 'SET'), Buffer.from('k'), Buffer.from('v')]],
    deadlineMs: clock.monotonicMs() + limits.holdMs,
  };
}

function nodeOf(node: string, clusterPort: number): NodeRecord {
  const ports = { gatewayPort: 1, clusterPort, followerPort: 2, transportPort: 3, httpPort: 4 };
  const build = { version: 1, incarnation: 'i', bootId: 'b', tags: {}, build: '1' };
  return { node, host: '127.0.0.1', ...ports, ...build };
}

const asked = () => MEMBERS.map((name) => peers.get(name)!.asked);

/** The code of its refusal, or `ok`. */
async function execute(kind: 'read' | 'write'): Promise<string> {
  const [result] = await clock.until(outside.router.execute(batch(kind)));
  return result?.ok ? 'ok' : String(result?.code);
}

beforeEach(() => {
  clock = new ManualClock();
  peers = new Map([...MEMBERS, 'out'].map((node) => [node, createPeer(node)]));
  outside = peers.get('out')!;
  elect('a', 3, ...MEMBERS);
  outside.routes.setLeader(GROUP, 'a', 3);
});

test.each(['read', 'write'] as const)(
  'a %s finds the leader that followed one which is away',
  async (kind) => {
    peers.get('a')!.up = false;
    elect('b', 5, 'b', 'c');
    expect(await execute(kind)).toBe('PEER_UNREACHABLE');
    expect(await execute(kind)).toBe('ok');
    expect(outside.routes.leader('default', 0)).toEqual({ node: 'b', term: 5 });
  },
);

test.each(['read', 'write'] as const)(
  'a %s finds the leader to which another one has handed over',
  async (kind) => {
    elect('b', 4, ...MEMBERS);
    expect(await execute(kind)).toBe('NOT_LEADER');
    expect(await execute(kind)).toBe('ok');
  },
);

test('a leader that came back in another term is asked in that', async () => {
  elect('a', 6, ...MEMBERS);
  expect(await execute('write')).toBe('TERM_CHANGED');
  expect(await execute('write')).toBe('ok');
  expect(outside.routes.leader('default', 0)).toEqual({ node: 'a', term: 6 });
});

test('what a node led that is away is asked for before anybody wants it', async () => {
  peers.get('b')!.up = false;
  outside.router.seekLeadersOf('b');
  expect(asked()).toEqual([0, 0, 0]);
  peers.get('a')!.up = false;
  peers.get('b')!.up = true;
  elect('c', 5, 'b', 'c');
  outside.router.seekLeadersOf('a');
  await clock.steps(1);
  expect(outside.routes.leader('default', 0)).toEqual({ node: 'c', term: 5 });
});

test('the cluster port sends its clients to the leader that followed one which is away', async () => {
  const nodes = MEMBERS.map((node, at) => [node, nodeOf(node, 7001 + at)] as const);
  outside.routes.setNodes(new Map(nodes));
  peers.get('a')!.up = false;
  elect('b', 5, 'b', 'c');
  const line = [Buffer.from('GET'), Buffer.from('k')];
  const place = { namespace: 'default', partition: 0, group: GROUP };
  const moved = () => redirectTo(outside.router, place, line);
  expect(moved()).toMatchObject({ text: expect.stringContaining(':7001') });
  await clock.steps(1);
  expect(moved()).toMatchObject({ text: expect.stringContaining(':7002') });
});

test('a client that waits is told of it as well', async () => {
  elect('b', 4, ...MEMBERS);
  const place = { namespace: 'default', partition: 0, group: GROUP };
  const request = { id: Buffer.from('1'), line: [Buffer.from('BLPOP')], protocol: 2 } as const;
  const ask = () =>
    outside.router.waits.ask(
      place,
      outside.router.leader('default', 0)!,
      { ...request, withdraw: false },
      new AbortController().signal,
    );
  expect(await clock.until(ask())).toMatchObject({ kind: 'failed', code: 'NOT_LEADER' });
  await clock.until(Promise.resolve());
  expect(await clock.until(ask())).toMatchObject({ kind: 'served' });
});

test('members of an older version are passed by', async () => {
  peers.get('a')!.up = false;
  for (const name of ['b', 'c']) peers.get(name)!.old = true;
  elect('c', 5, 'b', 'c');
  expect(await execute('write')).toBe('PEER_UNREACHABLE');
  await clock.steps(5);
  expect(outside.routes.leader('default', 0)).toBeUndefined();
  peers.get('c')!.old = false;
  await clock.steps(5);
  expect(outside.routes.leader('default', 0)).toEqual({ node: 'c', term: 5 });
});

test('they are asked in turns, ever more seldom, until the deadline of the command', async () => {
  peers.get('a')!.up = false;
  for (const name of ['b', 'c']) peers.get(name)!.led = { isLeader: false, term: 4 };
  expect(await execute('write')).toBe('PEER_UNREACHABLE');
  while (await clock.step());
  expect(clock.monotonicMs()).toBeGreaterThanOrEqual(limits.holdMs);
  expect(clock.monotonicMs()).toBeLessThan(limits.holdMs + 300);
  const [ofDead, ...ofLiving] = asked();
  expect(ofDead).toBe(0);
  const [fewest, most] = [Math.min(...ofLiving), Math.max(...ofLiving)];
  expect(fewest).toBeGreaterThan(5);
  expect(most).toBeLessThan(20);
  expect(most - fewest).toBeLessThanOrEqual(1);
});

test('many commands ask no more than one', async () => {
  peers.get('a')!.up = false;
  for (const name of ['b', 'c']) peers.get(name)!.led = { isLeader: false, term: 4 };
  const all = Array.from({ length: 50 }, () => outside.router.execute(batch('write')));
  await clock.until(Promise.all(all));
  const [, b = 0, c = 0] = asked();
  expect(b + c).toBeLessThan(4);
});

test('what is not newer than what is known changes nothing', async () => {
  peers.get('a')!.up = false;
  for (const name of ['b', 'c']) peers.get(name)!.routes.setLeader(GROUP, 'b', 3);
  expect(await execute('write')).toBe('PEER_UNREACHABLE');
  await clock.steps(10);
  expect(outside.routes.lastLeader('default', 0)).toEqual({ node: 'a', term: 3 });
  expect(outside.routes.leader('default', 0)).toBeUndefined();
});

test('a group that is busy has its leader still', async () => {
  peers.get('a')!.router.serve = async () => {
    throw new KvorumError('BUSY', 'too many requests are running');
  };
  expect(await execute('read')).toBe('BUSY');
  await clock.steps(5);
  expect(asked()).toEqual([0, 0, 0]);
});

test('nobody is asked for a group that is gone, or after the end', async () => {
  peers.get('a')!.up = false;
  expect(await execute('write')).toBe('PEER_UNREACHABLE');
  outside.routes.setPartitions([{ ...record, group: GROUP + 1 }]);
  const before = asked();
  await clock.steps(10);
  expect(asked()).toEqual(before);
  outside.router.close();
  outside.router.seekLeader({ namespace: 'default', partition: 0 });
  expect(asked()).toEqual(before);
});
