/** Transactions take effect whole or not at all, whatever the user may do and whoever answers late. */
import { afterEach, describe, expect, test } from 'vitest';
import { Client, type ClientError, type ClientOptions } from '../../src/sdk/index.ts';
import { openDoors, RawClient } from '../datanode/server/doors.ts';
import {
  type Answer,
  array,
  type Peer,
  type ScriptedTable,
  scriptedPlacedriver,
  startPeers,
} from './peer.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const NOPERM = "-NOPERM this user has no permissions to run the 'multi' command\r\n";
const one = array(':1\r\n');

/** Answers by the name of what is sent, in a session or not; without one: as a node that takes all. */
function answers(by: Readonly<Record<string, () => Answer>>): Peer['script'] {
  let isOpen = false;
  return (line) => {
    const name = (line[0] === 'KV.ONCE' ? line[4] : line[0]) ?? '';
    if (name === 'KV.SESSION') return undefined;
    const answer = by[name]?.();
    if (name === 'MULTI') isOpen = answer === undefined;
    if (answer !== undefined) return answer;
    if (name === 'EXEC') return isOpen ? one : '-ERR EXEC without MULTI\r\n';
    return isOpen && name !== 'MULTI' ? '+QUEUED\r\n' : name === 'MULTI' ? '+OK\r\n' : ':1\r\n';
  };
}

/** One partition, led by the first node. */
async function scene(scripts: readonly Peer['script'][], options: ClientOptions = {}) {
  const { peers, nodes } = await startPeers(scripts, ends);
  const table: ScriptedTable = {
    epoch: 1,
    nodes,
    partitions: [{ leader: 'n0', replicas: peers.map((_, at) => `n${at}`) }],
  };
  const { get } = scriptedPlacedriver(table);
  const client = new Client(
    { placedrivers: ['p:1'], backoffMinMs: 1, backoffMaxMs: 4, ...options },
    { get },
  );
  client.on('error', () => {});
  ends.push(() => client.disconnect());
  return { client, peers, peer: peers[0]! };
}

const rejection = (call: Promise<unknown>) =>
  call.then(
    (value) => ({ resolved: value }) as never,
    (error: unknown) => error as ClientError,
  );

const named = (peer: Peer, name: string) => peer.commands.filter((line) => line.startsWith(name));

describe('a user who may not MULTI', () => {
  test.each([true, false])('nothing of it is sent; sessions: %s', async (sessions) => {
    const { client, peer } = await scene([answers({ MULTI: () => NOPERM })], { sessions });
    const error = await rejection(client.multi().incr('a').incr('a').exec());
    expect(error).toMatchObject({ code: 'NOPERM', partition: 0, retriable: false });
    expect(peer.commands).toEqual([]);
    expect(await client.incr('a'), 'what came after it was not held back').toBe(1);
  });

  test('at a node: the keys are as they were', async () => {
    const doors = await openDoors(1);
    ends.push(() => doors.close());
    const admin = await RawClient.open(doors.gateway);
    ends.push(() => admin.end());
    const rules = '+@read +@write +@connection +kv.session';
    expect(await admin.ask(`ACL SETUSER bob on >pw ~* ${rules}`, '\r\n')).toMatch(/OK/);
    const { get } = scriptedPlacedriver({
      epoch: 1,
      nodes: [{ name: 'n0', port: doors.gateway }],
      partitions: [{ leader: 'n0', replicas: ['n0'] }],
    });
    const options = { placedrivers: ['p:1'], username: 'bob', password: 'pw' };
    const client = new Client(options, { get });
    ends.push(() => client.disconnect());
    const error = await rejection(client.multi().incr('{a}1').incr('{a}2').exec());
    expect(error.code).toBe('NOPERM');
    expect(await client.mget('{a}1', '{a}2')).toEqual([null, null]);
    await admin.ask('ACL SETUSER bob +multi +exec', '\r\n');
    const raised = await client.multi().incr('{a}1').incr('{a}2').exec();
    expect(raised).toEqual([
      [null, 1],
      [null, 1],
    ]);
  });

  test('a watch sends nothing behind MULTI', async () => {
    const { client, peer } = await scene([
      answers({ MULTI: () => NOPERM, WATCH: () => '+OK\r\n', UNWATCH: () => '+OK\r\n' }),
    ]);
    const error = await rejection(client.watch('a', (tx) => tx.multi().set('a', 1)));
    expect(error).toMatchObject({ code: 'NOPERM' });
    expect(named(peer, 'SET')).toEqual([]);
  });
});

test('a connection is asked once; what the turn sends after a transaction comes after it', async () => {
  const { client, peer } = await scene([answers({})], { sessions: false });
  await client.connect();
  await Promise.all([client.multi().incr('a').exec(), client.decr('b')]);
  await client.multi().incr('c').exec();
  const transaction = (key: string) => ['MULTI', `INCR ${key}`, 'EXEC'];
  expect(peer.commands).toEqual([...transaction('a'), 'DECR b', ...transaction('c')]);
  expect(peer.proofs).toBe(1);
});

test('a node that says nothing to the question: another is asked', async () => {
  const { client, peers } = await scene([answers({ MULTI: () => 'hang' }), answers({})], {
    attemptTimeoutMs: 200,
    sessions: false,
  });
  expect(await client.multi().incr('a').exec()).toEqual([[null, 1]]);
  expect(peers.map((peer) => named(peer, 'INCR'))).toEqual([[], ['INCR a']]);
});

describe('MULTI is refused later', () => {
  test.each([
    ['EXEC is answered', undefined],
    ['the connection ends', 'close'],
  ] as const)('what ran apart is told as unknown, and never sent again: %s', async (_name, end) => {
    let mayMulti = true;
    const { client, peer } = await scene([
      answers({
        MULTI: () => (mayMulti ? (undefined as never) : NOPERM),
        EXEC: () => (mayMulti ? one : (end ?? '-ERR EXEC without MULTI\r\n')),
      }),
    ]);
    await client.multi().incr('a').exec();
    mayMulti = false;
    const error = await rejection(client.multi().incr('b').exec());
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', retriable: false });
    expect(String(error.cause)).toMatch(/NOPERM/);
    expect(named(peer, 'INCR b')).toEqual(['INCR b']);
    expect((await rejection(client.multi().incr('c').exec())).code).toBe(
      end === undefined ? 'OUTCOME_UNKNOWN' : 'NOPERM',
    );
  });

  test('with all that follows it, for a moment: it is sent again', async () => {
    let loading = 0;
    const busy = () => (loading > 0 ? '-LOADING wait\r\n' : (undefined as never));
    const { client, peer } = await scene([
      answers({
        MULTI: busy,
        INCR: busy,
        EXEC: () => (loading-- > 0 ? '-ERR EXEC without MULTI\r\n' : one),
      }),
    ]);
    await client.multi().incr('a').exec();
    loading = 1;
    expect(await client.multi().incr('a').exec()).toEqual([[null, 1]]);
    expect(named(peer, 'EXEC')).toHaveLength(3);
  });
});

describe('the reply of EXEC is lost', () => {
  test('it is sent again behind another proof', async () => {
    let left = 1;
    const { client, peer } = await scene([answers({ EXEC: () => (left-- > 0 ? 'close' : one) })]);
    expect(await client.multi().incr('a').exec()).toEqual([[null, 1]]);
    expect(peer.proofs).toBe(2);
    expect(named(peer, 'INCR')).toHaveLength(2);
  });

  test('MULTI may not be sent any more: unknown, and nothing is sent', async () => {
    let mayMulti = true;
    const { client, peer } = await scene([
      answers({
        MULTI: () => (mayMulti ? (undefined as never) : NOPERM),
        EXEC: () => {
          mayMulti = false;
          return 'close';
        },
      }),
    ]);
    const error = await rejection(client.multi().incr('a').exec());
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', retriable: false });
    expect(named(peer, 'INCR')).toHaveLength(1);
  });

  test('a queued command is refused the second time: unknown', async () => {
    const incr: Answer[] = ['+QUEUED\r\n'];
    const exec: Answer[] = ['close'];
    const { client } = await scene([
      answers({
        INCR: () => incr.shift() ?? '-NOPERM not any more\r\n',
        EXEC: () => exec.shift() ?? '-EXECABORT discarded\r\n',
      }),
    ]);
    const error = await rejection(client.multi().incr('a').exec());
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', retriable: false });
  });
});

test.each([
  ['a text as the time limit', { timeoutMs: 'x' }],
  ['an option that there is not', { timeoutms: 5 }],
  ['null', null],
  ['a callback', () => {}],
])('%s is refused before anything is sent', async (_name, options) => {
  const { client, peer } = await scene([answers({})]);
  const transaction = client.multi().incr('a');
  expect(await rejection(transaction.exec(options as never))).toMatchObject({
    name: 'ClientError',
    code: 'BAD_ARGUMENT',
  });
  expect(peer.commands).toEqual([]);
  expect(await transaction.exec({ timeoutMs: 5_000 }), 'it is still there').toEqual([[null, 1]]);
});

test('a late EXECABORT does not settle what another attempt may do', async () => {
  let abort = (_: string) => {};
  const late = new Promise<string>((resolve) => {
    abort = resolve;
  });
  let answer = (_: string) => {};
  const second = new Promise<string>((resolve) => {
    answer = resolve;
  });
  const { client, peers } = await scene(
    [
      answers({
        INCR: () => late,
        EXEC: () =>
          late.then(() => {
            setImmediate(() => {
              for (const socket of peers[0]?.sockets ?? []) socket.end();
            });
            return '-EXECABORT discarded\r\n';
          }),
      }),
      answers({
        EXEC: () => {
          abort('-LOADING wait\r\n');
          return second;
        },
      }),
    ],
    { attemptTimeoutMs: 300 },
  );
  // what a connection brought before its end has been heard
  client.on('change', (change) => {
    if (change.kind === 'connection' && change.state === 'lost') answer(one);
  });
  expect(await client.multi().incr('a').exec()).toEqual([[null, 1]]);
  expect(named(peers[1]!, 'EXEC')).toHaveLength(1);
});
