import { beforeEach, expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { encodeExec } from '../../../../src/datanode/commands/transactions/exec-line.ts';
import { encodeKey } from '../../../../src/datanode/encoding/records/key.ts';
import type { ChangeSet } from '../../../../src/datanode/encoding/txn/change-set.ts';
import type { WaitOutcome, WaitRequest } from '../../../../src/datanode/partition/entries/wait.ts';
import type { GroupStanding } from '../../../../src/datanode/partition/waiting/ready-groups.ts';
import { WaiterChoice } from '../../../../src/datanode/partition/waiting/waiter-choice.ts';
import type { Draft } from '../../../../src/datanode/partition/waiting/waiter-drafts.ts';
import { Waiters } from '../../../../src/datanode/partition/waiting/waiters.ts';
import { OK } from '../../../../src/datanode/resp/reply.ts';
import { ManualClock } from '../../raftlog/manual-clock.ts';

let waiters: Waiters;
let clock: ManualClock;
let turns = 0;
let lastIndex = 10;
let applied = 10;
let clearing = false;
let types: Map<string, string>;
/** At what is under a key. */
let looks = 0;
let kept: Map<string, Buffer>;
/** Of groups of streams, by `key group`. */
let standings: Map<string, GroupStanding>;
let outcomes: Map<string, WaitOutcome>;

beforeEach(() => {
  [lastIndex, applied, clearing] = [10, 10, false];
  types = new Map();
  kept = new Map();
  standings = new Map();
  outcomes = new Map();
  turns = 0;
  clock = new ManualClock();
  waiters = new Waiters({
    clock,
    askForTurn: () => turns++,
    lastIndex: () => lastIndex,
    appliedIndex: () => applied,
    clearing: () => clearing,
    typeOf: (key) => {
      looks++;
      return types.get(key.toString());
    },
    groupsOf: (key) => (group) => standings.get(`${key} ${group}`),
    keptReply: (id) => kept.get(id.toString()),
  });
});

const line = (text: string) => text.split(' ').map((word) => Buffer.from(word));
const request = (id: string, text: string, withdraw = false): WaitRequest => ({
  id: Buffer.from(id),
  line: line(text),
  protocol: 2,
  withdraw,
});

/** Its outcome is noted under `id`. */
function ask(id: string, text: string, withdraw = false): WaitRequest {
  const asked = request(id, text, withdraw);
  void waiters.ask(asked).outcome.then((outcome) => outcomes.set(id, outcome));
  return asked;
}

/** Registered, with nothing there. */
function wait(id: string, text: string): WaitRequest {
  const asked = ask(id, text);
  waiters.confirm(asked);
  return asked;
}

function append(draft: Draft): number {
  waiters.drafts.onAppended(draft, ++lastIndex);
  return lastIndex;
}

function apply(index: number, ...served: string[]): void {
  applied = index;
  waiters.onApplied(
    index,
    served.map((id) => ({ id: Buffer.from(id), reply: OK })),
  );
  waiters.decideAll();
}

const ids = ({ part }: Draft) => part?.waiters.map(({ id }) => id.toString()).join(' ') ?? '';
const carriedBy = (...texts: string[]) => ids(waiters.drafts.draft(texts.map(line)));
const settled = async (id: string) => {
  await Promise.resolve();
  await Promise.resolve();
  return outcomes.get(id);
};

test('an entry carries those who wait for the keys it names, the longest waiting first', () => {
  wait('1', 'BLPOP a 0');
  wait('2', 'BRPOP b a 0');
  wait('3', 'BLPOP c 0');
  expect(carriedBy('RPUSH a x y')).toBe('1 2');
  expect(carriedBy('RENAME c d')).toBe('3');
  expect(carriedBy('SET d v', 'DEL e')).toBe('');
  expect(waiters.drafts.draft([line('SET d v')]).part).toBeUndefined();
});

test('a transaction carries those of all its commands', () => {
  wait('1', 'BLPOP a 0');
  wait('2', 'BLPOP b 0');
  const exec = encodeExec([line('RPUSH b x'), line('RPUSH a y')]);
  expect(ids(waiters.drafts.draft([exec]))).toBe('1 2');
});

test('no more than it can serve, of each type', () => {
  for (let at = 0; at < 5; at++) wait(`l${at}`, 'BLPOP a 0');
  for (let at = 0; at < 5; at++) wait(`z${at}`, 'BZPOPMIN a 0');
  expect(carriedBy('RPUSH a x')).toBe('l0 z0');
  expect(carriedBy('RPUSH a x y z')).toBe('l0 l1 l2 z0 z1 z2');
  expect(carriedBy('RENAME b a')).toBe('l0 l1 l2 l3 l4 z0 z1 z2 z3 z4');
});

test('of many who wait for a key a destination is looked at once for an entry', () => {
  const { waitersPerEntryMax } = limits;
  for (let at = 0; at < waitersPerEntryMax + 100; at++) wait(`${at}`, 'BLMOVE a b LEFT RIGHT 0');
  looks = 0;
  const { part } = waiters.drafts.draft([line('RENAME c a')]);
  expect(part?.waiters.length).toBe(waitersPerEntryMax);
  expect(looks).toBe(1);
});

test('those whom the taken would serve in turn are gone through once, not once for each', () => {
  const count = limits.waitersPerEntryMax / 4;
  let seen = 0;
  const forms = (from: string, fills?: string) =>
    Array.from({ length: count }, (_, order) => ({
      request: request(`${from}${order}`, `BLPOP ${from} 0`),
      form: { type: 'list', keys: [Buffer.from(from)], fills: fills && Buffer.from(fills) },
      order,
      get withdrawn() {
        seen++;
        return false;
      },
    }));
  const waiting: Record<string, unknown[]> = { a: forms('a', 'b'), b: forms('b') };
  const ground = {
    waiting: (key: string) => ({ list: waiting[key]! }),
    expected: () => 0,
    typeOf: () => 'list',
  };
  const choice = new WaiterChoice(ground as never, new Map([['a', count]]));
  expect(choice.choose([]).length).toBe(2 * count);
  expect(seen).toBe(2 * count);
});

test('nobody is looked at any more once the entry is full', () => {
  let seen = 0;
  const one = (order: number) => ({
    request: request(`${order}`, 'BLPOP a 0'),
    form: { type: 'list', keys: [Buffer.from('a')] },
    order,
    get withdrawn() {
      seen++;
      return false;
    },
  });
  const all = Array.from({ length: 3 * limits.waitersPerEntryMax }, (_, order) => one(order));
  const ground = { waiting: () => ({ list: all }), expected: () => 0, typeOf: () => 'list' };
  const choice = new WaiterChoice(ground as never, new Map([['a', 1_000_000]]));
  expect(choice.choose([]).length).toBe(limits.waitersPerEntryMax);
  expect(seen).toBeLessThanOrEqual(limits.waitersPerEntryMax + 1);
});

test('of thousands who wait for one key an entry looks at those alone whom it takes', () => {
  let seen = 0;
  const one = (order: number) => ({
    request: request(`${order}`, 'BLPOP a 0'),
    form: { type: 'list', keys: [Buffer.from('a')] },
    order,
    get withdrawn() {
      seen++;
      return false;
    },
  });
  const all = Array.from({ length: 5_000 }, (_, order) => one(order));
  const ground = { waiting: () => ({ list: all }), expected: () => 2, typeOf: () => undefined };
  const choice = new WaiterChoice(ground as never, new Map([['a', 1]]));
  expect(choice.choose([]).map(({ order }) => order)).toEqual([0, 1, 2]);
  expect(seen).toBe(3);
});

test('and those whom it may serve are not behind thousands who wait for another type', () => {
  for (let at = 0; at < limits.waitersPerEntryMax; at++) wait(`list ${at}`, 'BLPOP a 0');
  wait('zset', 'BZPOPMIN a 0');
  const index = append(waiters.drafts.draft([line('RENAME b a')]));
  types.set('a', 'zset');
  apply(index);
  expect(waiters.drafts.isDue).toBe(true);
  expect(ids(waiters.drafts.draft([])).split(' ')).toContain('zset');
});

test('and who is behind one whose destination holds another type, since that one takes nothing', () => {
  types.set('text', 'string');
  types.set('list', 'list');
  wait('1', 'BLMOVE a text LEFT RIGHT 0');
  wait('2', 'BRPOPLPUSH a text 0');
  wait('3', 'BLMOVE a list LEFT RIGHT 0');
  wait('4', 'BLPOP a 0');
  wait('5', 'BLPOP a 0');
  expect(carriedBy('RPUSH a x')).toBe('1 2 3');
  expect(carriedBy('RPUSH a x y')).toBe('1 2 3 4');
});

test('behind those whom entries on their way may serve', () => {
  for (let at = 0; at < 3; at++) wait(`${at}`, 'BLPOP a 0');
  const first = waiters.drafts.draft([line('RPUSH a x')]);
  const index = append(first);
  expect(ids(first)).toBe('0');
  const second = waiters.drafts.draft([line('RPUSH a y')]);
  expect(ids(second)).toBe('0 1');
  append(second);
  apply(index, '0');
  expect(carriedBy('RPUSH a z')).toBe('1 2');
});

test('and those whom these would serve in turn', () => {
  wait('1', 'BLPOP c 0');
  wait('2', 'BLMOVE b c LEFT LEFT 0');
  wait('3', 'BLMOVE a b LEFT LEFT 0');
  wait('4', 'BLPOP d 0');
  expect(carriedBy('RPUSH a x')).toBe('1 2 3');
});

test('bounded, and the others are served by an entry of their own', () => {
  const count = limits.waitersPerEntryMax + 10;
  for (let at = 0; at < count; at++) wait(`${at}`, 'BLPOP a 0');
  const draft = waiters.drafts.draft([line('RENAME b a')]);
  expect(draft.waiters).toHaveLength(limits.waitersPerEntryMax);
  const index = append(draft);
  types.set('a', 'list');
  apply(index, ...draft.waiters.map(({ id }) => id.toString()));
  expect(waiters.drafts.isDue).toBe(true);
  const rest = waiters.drafts.draft([]);
  expect(rest.waiters).toHaveLength(10);
  expect(rest.part?.ready.map(String)).toEqual(['a']);
  append(rest);
  expect(waiters.drafts.isDue).toBe(false);
});

test('of keys that are ready an entry carries what it has room for, the next the others', () => {
  const keys = [1, 2, 3, 4].map((at) => Buffer.alloc(limits.keyBytesMax - at, 'k'));
  const asked = { ...request('1', 'BLPOP'), line: [...line('BLPOP'), ...keys, Buffer.from('0')] };
  void waiters.ask(asked);
  waiters.confirm(asked);
  const push = (key: Buffer) => [Buffer.from('RPUSH'), key, Buffer.from('x')];
  const index = append(waiters.drafts.draft(keys.map(push)));
  for (const key of keys) types.set(key.toString(), 'list');
  apply(index);
  const carried: number[] = [];
  for (; waiters.drafts.isDue; append(waiters.drafts.draft([]))) {
    carried.push(waiters.drafts.draft([]).part!.ready.length);
  }
  expect(carried).toEqual([3, 1]);
});

test('no more of them than there is room for, by what their requests take', async () => {
  const large = (id: string): WaitRequest => {
    const key = Buffer.alloc(limits.waiterBytesPerPartitionMax / 4);
    return { ...request(id, 'BLPOP a'), line: [...line('BLPOP a'), key, Buffer.from('0')] };
  };
  const asked = ['1', '2', '3'].map(large);
  for (const one of asked) {
    void waiters.ask(one).outcome.then((outcome) => outcomes.set(one.id.toString(), outcome));
  }
  expect(await settled('3')).toMatchObject({ kind: 'failed', code: 'BUSY' });
  ask('4', 'BLPOP a 0');
  expect(await settled('4')).toMatchObject({ kind: 'failed', code: 'BUSY' });
  expect(waiters.count).toBe(2);
  waiters.confirm(asked[0]!);
  waiters.leave(asked[0]!);
  expect(await settled('1')).toEqual({ kind: 'withdrawn' });
  ask('5', 'BLPOP a 0');
  waiters.failAll('NOT_LEADER', 'gone');
  ask('6', 'BLPOP a 0');
  expect([...outcomes.keys()]).not.toContain('6');
  expect(waiters.count).toBe(1);
});

test('what is there already is looked at once all before it is applied and the leader confirmed', async () => {
  lastIndex = 12;
  types.set('a', 'string');
  const asked = ask('1', 'BLPOP a 0');
  expect(ids(waiters.drafts.draft([line('DEL a')]))).toBe('1');
  expect(waiters.drafts.draft([line('DEL a')]).part?.waiters[0]?.asked).toBe(true);
  waiters.confirm(asked);
  expect(waiters.drafts.isDue).toBe(false);
  apply(12);
  expect(waiters.drafts.isDue).toBe(true);
  const draft = waiters.drafts.draft([]);
  expect(draft.part?.waiters[0]).toMatchObject({ asked: true });
  const index = append(draft);
  expect(waiters.drafts.isDue).toBe(false);
  // it was gone when the entry came to it
  types.clear();
  apply(index);
  expect(await settled('1')).toBeUndefined();
  expect(waiters.drafts.draft([line('RPUSH a x')]).part?.waiters[0]?.asked).toBe(false);
});

test('who has been served leaves, with the reply', async () => {
  wait('1', 'BLPOP a b 0');
  const index = append(waiters.drafts.draft([line('RPUSH a x')]));
  apply(index, '1', 'of another node');
  expect(await settled('1')).toEqual({ kind: 'served', reply: OK });
  expect(waiters.count).toBe(0);
  expect(carriedBy('RPUSH b x')).toBe('');
});

test('what an earlier leader gave under the id is the answer', async () => {
  kept.set('1', Buffer.from('*-1\r\n'));
  types.set('a', 'list');
  wait('1', 'BLPOP a 0');
  expect(await settled('1')).toMatchObject({ kind: 'served', reply: { kind: 'encoded' } });
  expect(waiters.drafts.isDue).toBe(false);
});

test('a waiter that nobody carries is withdrawn at once', async () => {
  wait('1', 'BLPOP a 0');
  const again = request('1', 'BLPOP a 0', true);
  const { isNew, outcome } = waiters.ask(again);
  expect(isNew).toBe(false);
  expect(await outcome).toEqual({ kind: 'withdrawn' });
  expect(await settled('1')).toEqual({ kind: 'superseded' });
  expect(waiters.count).toBe(0);
});

test('a timeout that ends before the first look does not take what was there', async () => {
  types.set('a', 'list');
  const first = ask('1', 'BLPOP a 0.001');
  const { outcome } = waiters.ask(request('1', 'BLPOP a 0.001', true));
  waiters.confirm(first);
  expect(waiters.drafts.isDue).toBe(true);
  const index = append(waiters.drafts.draft([]));
  apply(index, '1');
  expect(await outcome).toEqual({ kind: 'served', reply: OK });
});

test('one that an entry carries waits for that entry', async () => {
  for (const served of [true, false]) {
    const id = String(served);
    wait(id, 'BLPOP a 0');
    const index = append(waiters.drafts.draft([line('RPUSH a x')]));
    const { outcome } = waiters.ask(request(id, 'BLPOP a 0', true));
    void outcome.then((result) => outcomes.set(id, result));
    await settled(id);
    expect(waiters.count).toBe(1);
    expect(carriedBy('RPUSH a y')).toBe('');
    apply(index, ...(served ? [id] : []));
    expect(await outcome).toMatchObject({ kind: served ? 'served' : 'withdrawn' });
  }
});

test('a withdrawal that arrives first is told what an earlier leader gave', async () => {
  kept.set('1', Buffer.from('+OK\r\n'));
  const asked = ask('1', 'BLPOP a 0', true);
  expect(await settled('1')).toBeUndefined();
  waiters.confirm(asked);
  expect(await settled('1')).toMatchObject({ kind: 'served' });
  types.set('b', 'list');
  waiters.confirm(ask('2', 'BLPOP b 0', true));
  expect(await settled('2')).toEqual({ kind: 'withdrawn' });
});

test('nothing is looked at while the partition is being emptied', async () => {
  types.set('a', 'list');
  kept.set('2', Buffer.from('+OK\r\n'));
  clearing = true;
  wait('1', 'BLPOP a 0');
  wait('2', 'BLPOP b 0');
  expect(waiters.drafts.isDue).toBe(false);
  clearing = false;
  types.clear();
  apply(11);
  await Promise.resolve();
  expect(waiters.drafts.isDue).toBe(false);
  expect([...outcomes.keys()]).toEqual(['2']);
});

test('whoever has gone is withdrawn, unless it was asked again since', async () => {
  const first = wait('1', 'BLPOP a 0');
  const second = request('1', 'BLPOP a 0');
  void waiters.ask(second);
  waiters.leave(first);
  expect(waiters.count).toBe(1);
  waiters.leave(second);
  expect(waiters.count).toBe(0);
});

test('who comes back is looked after again: entries of meanwhile did not carry it', () => {
  const asked = wait('1', 'BLPOP a 0');
  const index = append(waiters.drafts.draft([line('RPUSH a x')]));
  waiters.leave(asked);
  const missed = append(waiters.drafts.draft([line('RPUSH a y')]));
  void waiters.ask(request('1', 'BLPOP a 0'));
  apply(index);
  types.set('a', 'list');
  apply(missed);
  expect(waiters.drafts.isDue).toBe(true);
  expect(ids(waiters.drafts.draft([]))).toBe('1');
});

test('without leadership everybody asks elsewhere', async () => {
  wait('1', 'BLPOP a 0');
  append(waiters.drafts.draft([line('RPUSH a x')]));
  waiters.failAll('NOT_LEADER', 'gone');
  expect(await settled('1')).toEqual({ kind: 'failed', code: 'NOT_LEADER', message: 'gone' });
  expect(waiters.count).toBe(0);
});

test('confirmations leave with the next entry, whoever waits, and are kept when it is refused', () => {
  waiters.drafts.confirmServed([Buffer.from('x'), Buffer.from('y')]);
  const draft = waiters.drafts.draft([line('SET a b')]);
  expect(draft.part).toMatchObject({ ready: [], waiters: [] });
  expect(draft.part?.confirmed.map(String)).toEqual(['x', 'y']);
  expect(waiters.drafts.confirmations).toBe(0);
  waiters.drafts.onRefused(draft);
  expect(waiters.drafts.confirmations).toBe(2);
  waiters.drafts.confirmServed(
    Array.from({ length: limits.servedRepliesMax }, () => Buffer.from('z')),
  );
  expect(waiters.drafts.confirmations).toBe(limits.servedRepliesMax);
});

test('only blocking commands wait', async () => {
  ask('1', 'LPOP a');
  expect(await settled('1')).toMatchObject({ kind: 'failed', code: 'BAD_FRAME' });
  ask('2', 'BLPOP a never');
  expect(await settled('2')).toMatchObject({ kind: 'failed', code: 'BAD_FRAME' });
});

test('one that was taken in is never said to be refused for want of room', async () => {
  const asked = ask('1', 'BLPOP a 0');
  expect(carriedBy('RPUSH a x')).toBe('1');
  waiters.fail(asked, 'BUSY', 'too many reads are waiting');
  expect(await settled('1')).toMatchObject({ kind: 'failed', code: 'OUTCOME_UNKNOWN' });
});

const script = (...keys: string[]) => ['EVAL s', keys.length, ...keys].join(' ');
/** What a batch with scripts has changed: records of these keys. */
function changes(...keys: string[]): ChangeSet {
  const all = keys.map((key) => ({ key: encodeKey(Buffer.from(key)), after: Buffer.from('x') }));
  return { all: () => all, get: () => undefined, elements: undefined };
}

test('a script brings the longest waiting, whatever keys it names, and those of its keys', () => {
  const { scriptWaitersMax, scriptFillsMax } = limits;
  for (let at = 0; at < scriptWaitersMax; at++) wait(`o${at}`, `BLPOP other${at} 0`);
  wait('late', 'BLPOP late 0');
  for (let at = 0; at < scriptFillsMax + 10; at++) wait(`n${at}`, 'BLPOP named 0');
  const oldest = Array.from({ length: scriptWaitersMax }, (_, at) => `o${at}`);
  const named = Array.from({ length: scriptFillsMax }, (_, at) => `n${at}`);
  expect(carriedBy(script())).toBe(oldest.join(' '));
  expect(carriedBy(script('named'), script('named'))).toBe([...oldest, ...named].join(' '));
  expect(carriedBy('EVAL_RO s 0')).toBe('');
  expect(ids(waiters.drafts.draft([encodeExec([line(script('late'))])]))).toBe(
    [...oldest, 'late'].join(' '),
  );
  const long = 'x'.repeat(limits.scriptWaiterBytesMax / 2);
  waiters.failAll('NOT_LEADER', '');
  for (let at = 0; at < 3; at++) wait(`l${at}`, `BLPOP ${long}${at} 0`);
  expect(carriedBy(script())).toBe('l0');
});

test('what scripts filled that no entry was to serve is served by another', () => {
  wait('1', 'BLPOP a 0');
  wait('2', 'BZPOPMIN z 0');
  wait('3', 'BLPOP kept 0');
  for (const [key, type] of [
    ['a', 'list'],
    ['z', 'zset'],
    ['kept', 'zset'],
  ] as const)
    types.set(key, type);
  waiters.onScripts(changes('a', 'z', 'kept', 'nobodys'));
  expect(waiters.hasSuspected).toBe(true);
  waiters.lookAtSuspected();
  expect(waiters.hasSuspected).toBe(false);
  expect(waiters.drafts.draft([]).part?.ready.map(String)).toEqual(['a', 'z']);
});

test('of a key that an entry on its way may fill the last word is that entry’s', () => {
  wait('1', 'BLPOP a 0');
  const index = append(waiters.drafts.draft([line('RPUSH a x')]));
  types.set('a', 'list');
  waiters.onScripts(changes('a'));
  waiters.lookAtSuspected();
  expect(waiters.drafts.isDue).toBe(false);
  apply(index);
  expect(waiters.drafts.draft([]).part?.ready.map(String)).toEqual(['a']);
});

test('after many changes all that is waited for is looked at, some in a turn', () => {
  for (let at = 0; at < 300; at++) wait(`${at}`, `BLPOP k${at} 0`);
  types.set('k299', 'list');
  waiters.onScripts({ all: () => [], get: () => undefined, elements: new Set() });
  looks = 0;
  let turns = 0;
  for (; waiters.hasSuspected; turns++) waiters.lookAtSuspected();
  expect([turns, looks]).toEqual([3, 300]);
  expect(waiters.drafts.draft([]).part?.ready.map(String)).toEqual(['k299']);
});

const GROUP = (name: string, ...keys: string[]) =>
  `XREADGROUP GROUP ${name} c BLOCK 0 STREAMS ${keys.join(' ')} ${keys.map(() => '>').join(' ')}`;

/** In a group, with nothing there: an entry has looked. */
function waitIn(group: string, id: string, ...keys: string[]): WaitRequest {
  const asked = wait(id, GROUP(group, ...keys));
  apply(append(waiters.drafts.draft([])));
  return asked;
}

test('an entry carries the first of each group that waits for a stream it adds to', () => {
  for (const id of ['g1', 'g2', 'g3']) waitIn('g', id, 's');
  for (const id of ['h1', 'h2']) waitIn('h', id, 't', 's');
  wait('l', 'BLPOP s 0');
  expect(carriedBy('XADD s * f v')).toBe('g1 h1 l');
  expect(carriedBy('XADD s * f v', 'XADD s * f v')).toBe('g1 g2 h1 h2 l');
  expect(carriedBy('DEL s')).toBe('g1 g2 g3 h1 h2 l');
  expect(carriedBy('XGROUP DESTROY s g')).toBe('g1 g2 g3 h1 h2 l');
});

test('what consumers send all the time carries nobody', () => {
  waitIn('g', '1', 's');
  for (const text of [
    'XACK s g 1-1',
    'XREADGROUP GROUP g c STREAMS s >',
    'EXPIRE s 10',
    'XDEL s 1-1',
  ])
    expect(carriedBy(text)).toBe('');
  expect(carriedBy('XGROUP CREATE s h $')).toBe('');
});

test('who asks for a group is in an entry, whatever there is', () => {
  wait('1', GROUP('g', 's'));
  expect(waiters.drafts.isDue).toBe(true);
  expect(carriedBy()).toBe('1');
});

test('a group with something left is served by another entry, once for the same', () => {
  for (const id of ['1', '2']) waitIn('g', id, 's');
  waitIn('h', '3', 's');
  standings.set('s g', '2-1 1-1');
  apply(append(waiters.drafts.draft([line('XADD s * f v')])), '1');
  expect(waiters.drafts.isDue).toBe(true);
  const draft = waiters.drafts.draft([]);
  expect(draft.part?.ready.map(String)).toEqual(['s']);
  expect(ids(draft)).toBe('2');
  apply(append(draft));
  expect(waiters.drafts.isDue).toBe(false);
  standings.set('s g', '3-1 1-1');
  apply(append(waiters.drafts.draft([line('XADD s * f v')])));
  expect(ids(waiters.drafts.draft([]))).toBe('2');
});

test('what is gone is told to all of a group, by as many entries as that takes', () => {
  const COUNT = limits.waitersPerEntryMax + 10;
  for (let at = 0; at < COUNT; at++) wait(`${at}`, GROUP('g', 's'));
  while (waiters.drafts.isDue) apply(append(waiters.drafts.draft([])));
  standings.set('s g', 'gone');
  waiters.onChanged(changesOf('s'));
  expect(waiters.hasSuspected).toBe(true);
  waiters.lookAtSuspected();
  let told = 0;
  for (let entries = 0; waiters.drafts.isDue && entries < 5; entries++) {
    const draft = waiters.drafts.draft([]);
    const served = ids(draft).split(' ');
    told += served.length;
    apply(append(draft), ...served);
  }
  expect(told).toBe(COUNT);
  expect(waiters.count).toBe(0);
});

test('when a partition is emptied all groups are looked at, lists are not', () => {
  waitIn('g', '1', 's');
  wait('2', 'BLPOP l 0');
  waiters.onClear();
  standings.set('s g', 'gone');
  waiters.lookAtSuspected();
  expect(ids(waiters.drafts.draft([]))).toBe('1');
});

test('those whom members would not know are refused, unless an entry on its way decides', async () => {
  waitIn('g', '1', 's');
  waitIn('h', '2', 's');
  wait('3', 'BLPOP l 0');
  const onItsWay = append(waiters.drafts.draft([line('XADD s * f v')]));
  waiters.refuse(() => OK);
  expect(waiters.count).toBe(3);
  apply(onItsWay, '1');
  waiters.refuse(() => OK);
  expect(await settled('2')).toEqual({ kind: 'served', reply: OK });
  expect(waiters.count).toBe(1);
});

/** A batch that deletes them. */
function changesOf(...keys: string[]): ChangeSet {
  const all = keys.map((key) => ({ key: encodeKey(Buffer.from(key)), after: undefined }));
  return { all: () => all, get: () => undefined, elements: undefined };
}

test('who takes what has been pending for long looks again, one of a group at a time', async () => {
  const claiming = (ms: number) => `XREADGROUP GROUP g c BLOCK 0 CLAIM ${ms} STREAMS s >`;
  for (const [id, ms] of [
    ['1', 4_000],
    ['2', 4_000],
    ['3', 8_000],
  ] as const) {
    wait(id, claiming(ms));
  }
  wait('4', 'XREADGROUP GROUP g c BLOCK 0 STREAMS s >');
  apply(append(waiters.drafts.draft([])));
  const looking = () => {
    const draft = waiters.drafts.draft([]);
    const asked = draft.part?.waiters.filter((one) => one.asked) ?? [];
    if (draft.part !== undefined) apply(append(draft));
    return asked.map(({ id }) => id.toString()).join(' ');
  };
  expect(looking()).toBe('');
  const after = async (steps: number) => {
    await clock.steps(steps);
    return [clock.monotonicMs(), looking(), turns];
  };
  expect(await after(1)).toEqual([250, '', 0]);
  expect(await after(1)).toEqual([500, '1', 1]);
  expect(await after(1)).toEqual([750, '', 1]);
  expect(await after(1)).toEqual([1_000, '2 3', 3]);
  waiters.failAll('NOT_LEADER', 'another leads');
  expect(await clock.step()).toBe(false);
});
