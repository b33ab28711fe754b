import { beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { KvorumError } from '../../../src/common/errors.ts';
import { LazyAbort } from '../../../src/common/lazy-abort.ts';
import { limits } from '../../../src/common/limits.ts';
import { encodeExec } from '../../../src/datanode/commands/transactions/exec-line.ts';
import type {
  CommandBatch,
  EntryFate,
  EntryPlace,
  LocalPartition,
} from '../../../src/datanode/partition/entries/batch.ts';
import type { WaitRequest } from '../../../src/datanode/partition/entries/wait.ts';
import { error, integer, OK, type Reply } from '../../../src/datanode/resp/reply.ts';
import {
  decodeBatch,
  decodeResults,
  encodeBatch,
  encodeResults,
} from '../../../src/datanode/routing/request-codec.ts';
import { MutableRouteTable } from '../../../src/datanode/routing/route-table.ts';
import { Router } from '../../../src/datanode/routing/router.ts';
import {
  decodeWaitAnswer,
  encodeWaitAnswer,
  encodeWaitMessage,
  type WaitMessage,
} from '../../../src/datanode/routing/wait-codec.ts';
import { asker, company } from './company.ts';
import { partitionRecord } from './records.ts';

let routes: MutableRouteTable;
let local: (LocalPartition & { isLeader: boolean }) | undefined;
let request: (to: string, body: Buffer, signal?: AbortSignal) => Promise<Buffer>;
let reachable: boolean;
let isHeld: boolean;
let isStopped: boolean;
/** How far the node's clock has been set ahead. */
let aheadMs: number;
let router: Router;
const sent: string[] = [];
const STOPPED = 'the replica on me stopped after a fault: a bit flipped';

const batch = (kind: 'read' | 'write' = 'write'): CommandBatch => ({
  namespace: 'default',
  partition: 0,
  kind,
  lines: [[Buffer.from('SET'), Buffer.from('a'), Buffer.from('1')]],
  protocol: 2,
  term: undefined,
  deadlineMs: systemClock.monotonicMs() + 1_000,
});

beforeEach(() => {
  routes = new MutableRouteTable();
  routes.setPartitions([partitionRecord(0, 1)]);
  local = undefined;
  reachable = true;
  isHeld = false;
  isStopped = false;
  aheadMs = 0;
  sent.length = 0;
  request = async () => encodeResults([{ ok: true, reply: OK }], 2);
  router = new Router({
    node: 'me',
    bootId: 'b',
    clock: { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs },
    routes,
    ...company(),
    holds: (group) => isHeld && group === 10,
    faultOf: (group) => (isStopped && group === 10 ? 'a bit flipped' : undefined),
    local: () => local,
    transport: () => ({
      request: (to, body, _timeoutMs, signal) => {
        sent.push(to);
        return request(to, body, signal);
      },
      isReachable: () => reachable,
    }),
  });
});

const confirmed: Buffer[] = [];

function replica(isLeader: boolean) {
  return {
    namespace: 'default',
    partition: 0,
    id: 5,
    stopped: false,
    isLeader,
    term: 7,
    execute: async (each: CommandBatch) => each.lines.map(() => ({ ok: true, reply: OK }) as const),
    wait: async (request: WaitRequest) =>
      request.withdraw
        ? ({ kind: 'withdrawn' } as const)
        : ({ kind: 'served', reply: OK } as const),
    confirmServed: (ids: readonly Buffer[]) => {
      confirmed.push(...ids);
    },
    changes: async () => ({ kind: 'failed', code: 'NOT_LEADER', message: '' }) as const,
    fateOf: ({ index }: EntryPlace): EntryFate =>
      index === 5 ? { kind: 'done', replies: [integer(42)] } : { kind: 'never' },
  };
}

test('a batch goes to the own replica while it leads', async () => {
  local = replica(true);
  expect(await router.execute(batch())).toEqual([{ ok: true, reply: OK }]);
  expect(router.leader('default', 0)).toEqual({ node: 'me', term: 7 });
  expect(sent).toEqual([]);
});

test('otherwise to the leader, in its term', async () => {
  local = replica(false);
  routes.setLeader(10, 'other', 9);
  let term = 0;
  request = async (_to, body) => {
    const peer = new Router({
      node: 'other',
      bootId: 'c',
      clock: systemClock,
      ...company(),
      routes: new MutableRouteTable(),
      local: () => ({
        ...replica(true),
        execute: async (each) => {
          term = each.term ?? 0;
          return [{ ok: true, reply: OK }];
        },
      }),
      transport: () => ({ request: () => Promise.reject(), isReachable: () => false }),
    });
    return peer.serve(body, asker());
  };
  const [result] = await router.execute(batch());
  expect(result).toMatchObject({ ok: true, reply: { bytes: Buffer.from('+OK\r\n') } });
  expect(sent).toEqual(['other']);
  expect(term).toBe(9);
});

test('a read of a follower is answered here, unless the replica takes part in nothing', async () => {
  local = replica(false);
  routes.setLeader(10, 'other', 9);
  const read = () => router.execute({ ...batch('read'), maxStalenessMs: 100 });
  expect(await read()).toEqual([{ ok: true, reply: OK }]);
  expect(sent).toEqual([]);
  isHeld = true;
  expect(await read()).toMatchObject([{ ok: true }]);
  expect(sent).toEqual(['other']);
});

test('a replica that takes part in nothing yet is not asked which keys change', async () => {
  local = replica(false);
  const place = { namespace: 'default', partition: 0, group: 10 };
  const question = { after: undefined, proves: true, ofReplica: true };
  const { signal } = new AbortController();
  expect(await router.changes.ask(place, question, signal)).toMatchObject({ code: 'NOT_LEADER' });
  isHeld = true;
  expect(await router.changes.ask(place, question, signal)).toMatchObject({ code: 'NO_PARTITION' });
});

test('a write is not run by the group that took the place of its own while it was on its way', async () => {
  local = replica(false);
  routes.setLeader(10, 'other', 9);
  const ran: CommandBatch[] = [];
  request = async (to) => {
    if (to === 'me') throw new KvorumError('PEER_UNREACHABLE', 'no connection to itself');
    // the session is open, and nothing else has been sent
    routes.setPartitions([{ ...partitionRecord(0, 1), group: 11 }]);
    local = {
      ...replica(true),
      execute: async (each) => {
        ran.push(each);
        return [{ ok: true, reply: OK }];
      },
    };
    return encodeResults([{ ok: true, reply: OK }], 2);
  };
  const [result] = await router.execute({ ...batch(), group: 10 });
  expect(sent[0]).toBe('other');
  expect(result?.ok).toBe(false);
  expect(ran).toEqual([]);
});

const lostResults = () => [
  {
    ok: false,
    code: 'OUTCOME_UNKNOWN',
    message: 'why',
    place: { term: 7, index: 5, at: 0 },
  } as const,
];

test('a write of the own leader whose outcome is lost is asked for at the others', async () => {
  local = {
    ...replica(true),
    execute: async () => lostResults(),
    changes: async () => ({ kind: 'failed', code: 'NOT_LEADER', message: '' }) as const,
    fateOf: () => ({ kind: 'open' }),
  };
  const replicas = ['me', 'other'].map((node, at) => ({ replica: at + 1, node, incarnation: 'i' }));
  routes.setPartitions([{ ...partitionRecord(0, 1), replicas }]);
  const served: string[] = [];
  request = async (to, body) => {
    served.push(to);
    const peer = new Router({
      node: to,
      bootId: 'c',
      clock: systemClock,
      ...company(),
      routes,
      local: () => replica(false),
      transport: () => ({ request: () => Promise.reject(), isReachable: () => false }),
    });
    return peer.serve(body, asker());
  };
  const [result] = await router.execute({ ...batch(), group: 10 });
  expect(result).toMatchObject({ ok: true, reply: { resp2: Buffer.from(':42\r\n') } });
  expect(served.length).toBeGreaterThan(0);
  expect(router.lostEntries).toBe(1);
  // who can ask again under a session is told at once
  const lines = [
    ['KV.ONCE', 'session-1', '1', '1', 'SET', 'a', '1'].map((word) => Buffer.from(word)),
  ];
  expect(await router.execute({ ...batch(), group: 10, lines })).toEqual(lostResults());
  expect(router.lostEntries).toBe(1);
});

/** What the leader is asked is refused once nobody waits for it. */
function refusedWhenAborted(_to: string, _body: Buffer, signal?: AbortSignal): Promise<Buffer> {
  return new Promise((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(new KvorumError('OUTCOME_UNKNOWN', 'aborted')));
  });
}

test('a range that was sent on ends when its client has gone, and the leader stays known', async () => {
  routes.setLeader(10, 'other', 9);
  request = refusedWhenAborted;
  const client = new LazyAbort();
  const lines = [['LRANGE', 'a', '0', '-1'].map((word) => Buffer.from(word))];
  const asked = router.execute({ ...batch('read'), group: 10, lines, asker: client });
  client.abort();
  expect(await asked).toMatchObject([{ ok: false }]);
  expect(routes.leader('default', 0)).toEqual({ node: 'other', term: 9 });
});

test('points of several clients that share a request stay when one of these has gone', async () => {
  routes.setLeader(10, 'other', 9);
  const asked: CommandBatch[] = [];
  request = async (_to, body) => {
    asked.push(decodeBatch(body, 0));
    return encodeResults(
      [1, 2].map((value) => ({ ok: true, reply: integer(value) })),
      2,
    );
  };
  const client = new LazyAbort();
  const lines = [['STRLEN', 'a'].map((word) => Buffer.from(word))];
  const point = { ...batch('read'), group: 10, lines };
  const both = [router.execute({ ...point, asker: client }), router.execute(point)];
  client.abort();
  expect((await Promise.all(both)).flat().map(({ ok }) => ok)).toEqual([true, true]);
  expect(asked.map(({ lines: { length } }) => length)).toEqual([2]);
});

test('the leader is told when nobody waits for a read of another node any more', async () => {
  let isGone: boolean | undefined;
  const peer = asker();
  local = {
    ...replica(true),
    execute: async (each: CommandBatch) => {
      isGone = each.asker?.isGone;
      return each.lines.map(() => ({ ok: true, reply: OK }) as const);
    },
  };
  await router.serve(encodeBatch(batch('read'), 1_000), peer);
  expect(isGone).toBe(false);
  await router.serve(encodeBatch(batch('read'), 1_000), { ...peer, isGone: true });
  expect(isGone).toBe(true);
});

test('without a known leader nothing is proposed', async () => {
  expect(await router.execute(batch())).toMatchObject([{ ok: false, code: 'NO_LEADER' }]);
  routes.setLeader(10, 'me', 3);
  expect(await router.execute(batch())).toMatchObject([{ ok: false, code: 'NO_LEADER' }]);
});

test('a failure keeps its code, and the hint is withdrawn', async () => {
  routes.setLeader(10, 'other', 9);
  reachable = false;
  request = () => Promise.reject(new KvorumError('CONNECTION_LOST', 'gone'));
  expect(await router.execute(batch())).toMatchObject([{ ok: false, code: 'CONNECTION_LOST' }]);
  expect(router.leader('default', 0)).toBeUndefined();
});

test('a leader that only this node cannot reach is told as one', async () => {
  const NOBODY = 'no leader known';
  const told = async () => {
    const [result] = await router.execute(batch());
    return result?.ok === false && result.code === 'NO_LEADER' ? result.message : result;
  };
  reachable = false;
  request = () => Promise.reject(new KvorumError('PEER_UNREACHABLE', 'no connection to other'));
  routes.setLeader(10, 'me', 8);
  expect(await told()).toBe(NOBODY);
  routes.setLeader(10, 'other', 9);
  await router.execute(batch());
  expect(await told()).toBe(`${NOBODY} but other, which me cannot reach`);
  isStopped = true;
  expect(await told()).toBe(`${NOBODY} but other, which me cannot reach, and ${STOPPED}`);
  isStopped = false;
  routes.resignLeader(10, { node: 'other', term: 9 });
  expect(await told()).toBe(NOBODY);
});

test('the last leader is asked again while its node can be reached', async () => {
  routes.setLeader(10, 'other', 9);
  request = async () => encodeResults([{ ok: false, code: 'NOT_LEADER', message: 'not now' }], 2);
  expect(await router.execute(batch())).toMatchObject([{ ok: false, code: 'NOT_LEADER' }]);
  expect(routes.leader('default', 0)).toBeUndefined();
  expect(router.leader('default', 0)).toEqual({ node: 'other', term: 9 });
});

test('one that has said that it leads no more is not, though its node can be reached', async () => {
  routes.setLeader(10, 'other', 9);
  routes.resignLeader(10, { node: 'other', term: 9 });
  expect(router.leader('default', 0)).toBeUndefined();
  expect(router.leaderless()).toMatchObject([{ namespace: 'default', partition: 0 }]);
  expect(await router.execute(batch())).toMatchObject([{ ok: false, code: 'NO_LEADER' }]);
  expect(sent).toEqual([]);
});

test.each(['BUSY', 'SESSION_LOST', 'TOO_LARGE'] as const)(
  'who refuses with %s leads all the same, and stays known',
  async (code) => {
    routes.setLeader(10, 'other', 9);
    const refused = { ok: false, code, message: 'no' } as const;
    request = async () => encodeResults([refused], 2);
    expect(await router.execute(batch())).toMatchObject([{ ok: false, code }]);
    request = () => Promise.reject(new KvorumError(code, 'no'));
    expect(await router.execute(batch())).toMatchObject([{ ok: false, code }]);
    expect(routes.leader('default', 0)).toEqual({ node: 'other', term: 9 });
    expect(sent).toEqual(['other', 'other']);
  },
);

test('a garbled answer does not pass for a reply', async () => {
  routes.setLeader(10, 'other', 9);
  request = async () => Buffer.from('what');
  const [result] = await router.execute(batch());
  expect(result).toMatchObject({ ok: false });
});

test('a peer that has no replica says so', async () => {
  routes.setLeader(10, 'other', 9);
  request = (_to, body) => router.serve(body, asker());
  expect(await router.execute(batch())).toMatchObject([{ ok: false, code: 'NO_PARTITION' }]);
});

test('a replica that stopped after a fault is told as such, here and by a peer', async () => {
  isStopped = true;
  expect(await router.execute(batch())).toMatchObject([
    { code: 'NO_LEADER', message: `no leader known, and ${STOPPED}` },
  ]);
  routes.setLeader(10, 'other', 9);
  request = (_to, body) => router.serve(body, asker());
  expect(await router.execute(batch())).toMatchObject([
    { ok: false, code: 'NO_PARTITION', message: STOPPED },
  ]);
});

test('a client that a peer has waiting here holds up nothing else of that peer', async () => {
  local = replica(true);
  const parked: string[] = [];
  const line = [Buffer.from('BLPOP'), Buffer.from('k'), Buffer.from('0')];
  const ask = { id: Buffer.from('id'), line, protocol: 2, withdraw: false } as const;
  const place = { namespace: 'default', partition: 0, term: 7 };
  const messages: WaitMessage[] = [
    { ...place, kind: 'confirm', ids: [Buffer.from('id')] },
    { ...place, kind: 'ask', request: ask },
    { ...place, kind: 'ask', request: ask, term: 6 },
  ];
  for (const message of messages) {
    const park = () => parked.push(`${message.kind} ${message.term}`);
    await router.serve(encodeWaitMessage(message), asker(park));
  }
  await router.serve(
    encodeBatch(batch(), 1_000),
    asker(() => parked.push('batch')),
  );
  expect(parked).toEqual(['ask 7']);
});

test('a peer’s batch for a group that is not the table’s is not taken on', async () => {
  local = replica(true);
  const serve = async (group: number) => {
    const body = encodeBatch({ ...batch(), group }, 1_000);
    const [result] = decodeResults(await router.serve(body, asker()), 1);
    return result!.ok ? 'taken' : result!.code;
  };
  const { group } = partitionRecord(0, 1);
  expect(await serve(group)).toBe('taken');
  expect(await serve(group + 1)).toBe('NO_PARTITION');
  routes.setPartitions([]);
  expect(await serve(group)).toBe('NO_PARTITION');
});

test('reads are vouched for by the own replica while it has the term of the leader', async () => {
  const asked: (number | undefined)[] = [];
  request = async (_to, body) => {
    asked.push(decodeBatch(body, 0).vouchedBy);
    return encodeResults([{ ok: true, reply: OK }], 2);
  };
  const stopped = { ...replica(false), stopped: true };
  routes.setLeader(10, 'other', 7);
  for (local of [replica(false), stopped, undefined]) await router.execute(batch('read'));
  local = replica(false);
  await router.execute(batch('write'));
  await router.execute({ ...batch('read'), group: 11 });
  isHeld = true;
  await router.execute(batch('read'));
  isHeld = false;
  routes.setLeader(10, 'other', 8);
  await router.execute(batch('read'));
  expect(asked).toEqual([5, ...Array.from({ length: 6 }, () => undefined)]);
});

test('a leader of an older build is asked again without a voucher, and not with one for a while', async () => {
  const asked: (number | undefined)[] = [];
  request = async (_to, body) => {
    const { vouchedBy } = decodeBatch(body, 0);
    asked.push(vouchedBy);
    if (vouchedBy !== undefined) throw new KvorumError('BAD_FRAME', 'unknown version 5');
    return encodeResults([{ ok: true, reply: OK }], 2);
  };
  routes.setLeader(10, 'other', 7);
  local = replica(false);
  for (const _ of [1, 2]) expect(await router.execute(batch('read'))).toMatchObject([{ ok: true }]);
  expect(asked).toEqual([5, undefined, undefined]);
  aheadMs = limits.plainPeerMs;
  const later = batch('read');
  await router.execute({ ...later, deadlineMs: later.deadlineMs + aheadMs });
  expect(asked).toEqual([5, undefined, undefined, 5, undefined]);
});

test('a leader that has no room for one who waits leads all the same', async () => {
  const place = { namespace: 'default', partition: 0 };
  const line = [Buffer.from('BLPOP'), Buffer.from('a'), Buffer.from('0')];
  const one: WaitRequest = { id: Buffer.from('x'), line, protocol: 2, withdraw: false };
  routes.setLeader(10, 'other', 3);
  const withdrawn = vi.spyOn(routes, 'withdrawLeader');
  const ask = () =>
    router.waits.ask(place, { node: 'other', term: 3 }, one, new AbortController().signal);
  const failed = (code: 'BUSY' | 'NOT_LEADER') =>
    ({ kind: 'failed', code, message: 'no' }) as const;
  request = async () => encodeWaitAnswer(failed('BUSY'), 2);
  expect(await ask()).toMatchObject({ code: 'BUSY' });
  request = () => Promise.reject(new KvorumError('BUSY', 'too many requests'));
  expect(await ask()).toMatchObject({ code: 'BUSY' });
  expect(withdrawn).not.toHaveBeenCalled();
  request = async () => encodeWaitAnswer(failed('NOT_LEADER'), 2);
  expect(await ask()).toMatchObject({ code: 'NOT_LEADER' });
  expect(withdrawn).toHaveBeenCalledOnce();
});

describe('a peer of a newer build sends a command that is not known here', () => {
  const wordsOf = (text: string) => text.split(' ').map((word) => Buffer.from(word));
  const unknown = (name: string) =>
    Buffer.from(
      `-ERR the leader of this partition does not know '${name}': it runs an older kvorum than the ` +
        'node that was asked; upgrade it; nothing happened\r\n',
    );

  /** What stands in the place of a refused command answers this. */
  const appliedReply = (line: readonly Buffer[]): Reply => {
    if (line.at(-1)?.toString() === 'BROKEN') return { kind: 'nullArray' };
    const isStandIn = String(line[0]) === 'PING';
    return isStandIn ? error("ERR the log holds 'PING', which is not a write command here") : OK;
  };

  test('it never comes into the log, and what came with it is carried out', async () => {
    const taken: string[] = [];
    const execute = async ({ lines }: CommandBatch) => {
      taken.push(...lines.map((line) => line.join(' ')));
      return lines.map((line) => ({ ok: true, reply: appliedReply(line) }) as const);
    };
    local = { ...replica(true), execute };
    const exec = (...texts: string[]) => encodeExec(texts.map(wordsOf));
    const lines = [
      ...['SET a 1', 'LATER.SET a 2', 'KV.SESSION EXTEND s a'].map(wordsOf),
      ...[exec('SET a 3', 'LATER.SET a 4'), exec('SET a 5', 'GET a')],
      [...wordsOf('KV.ONCE session-1 1 1'), ...exec('LATER.DEL a')],
    ];
    const body = encodeBatch({ ...batch(), lines }, 1_000);
    const results = decodeResults(await router.serve(body, asker()), lines.length);
    const given = results.map(
      (result) => result.ok && 'bytes' in result.reply && result.reply.bytes,
    );
    const [done, set] = [Buffer.from('+OK\r\n'), unknown('LATER.SET')];
    expect(given).toEqual([
      ...[done, set, unknown('KV.SESSION EXTEND'), set, done],
      unknown('LATER.DEL'),
    ]);
    expect(taken.map((text) => text.split(' ', 1)[0])).toEqual([
      'SET',
      'PING',
      'PING',
      'PING',
      'EXEC',
      'KV.ONCE',
    ]);
  });

  test('nobody waits by it', async () => {
    local = replica(true);
    const request = {
      id: Buffer.from('id'),
      line: wordsOf('LATER.BLPOP a 0'),
      protocol: 2,
    } as const;
    const ask = async (withdraw: boolean) => {
      const place = { namespace: 'default', partition: 0, term: 7 };
      const message = { ...place, kind: 'ask', request: { ...request, withdraw } } as const;
      return decodeWaitAnswer(await router.serve(encodeWaitMessage(message), asker()));
    };
    const bytes = unknown('LATER.BLPOP');
    expect(await ask(false)).toMatchObject({ kind: 'served', reply: { bytes } });
    expect(await ask(true)).toEqual({ kind: 'withdrawn' });
  });
});
