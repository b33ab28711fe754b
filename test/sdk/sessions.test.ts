/** Sessions by partition: when one is opened, whose numbers it gives, and when it is used no more. */
import { expect, test } from 'vitest';
import { seededRandom } from '../../src/common/random.ts';
import { Client } from '../../src/sdk/index.ts';
import { type OpenSession, onceLine, Sessions } from '../../src/sdk/sessions.ts';
import { Peer, scriptedPlacedriver } from './peer.ts';

function scene() {
  const opens: { readonly id: string; readonly done: Parameters<OpenSession>[2] }[] = [];
  const sessions = new Sessions(seededRandom(1), ({ id }, _key, done) => opens.push({ id, done }));
  const told: string[] = [];
  const begin = (name: string) =>
    sessions.begin(0, 'k', (failure) => told.push(`${name} ${failure?.message ?? 'may go on'}`));
  return { sessions, opens, told, begin };
}

test('who comes while one is being opened waits for that one', () => {
  const { sessions, opens, told, begin } = scene();
  begin('a');
  begin('b');
  expect(opens).toHaveLength(1);
  expect(sessions.take(0)).toBe(undefined);
  opens[0]!.done('opened');
  expect(told).toEqual(['a may go on', 'b may go on']);
  expect(sessions.take(0)?.sequence).toBe(1);
});

test('one that was lost is used no more; who learns of it late takes no other along', () => {
  const { sessions, opens, begin } = scene();
  begin('a');
  opens[0]!.done('opened');
  const [first, second] = [sessions.take(0)!, sessions.take(0)!];
  sessions.lost(first.session);
  expect(sessions.isOpen(0)).toBe(false);
  begin('b');
  opens[1]!.done('opened');
  sessions.lost(second.session);
  expect(sessions.take(0)).toMatchObject({ session: { id: opens[1]!.id }, sequence: 1 });
  expect(opens[1]!.id).not.toBe(opens[0]!.id);
});

test('the lowest number without an answer goes along: replies below it need not be kept', () => {
  const { sessions, opens, begin } = scene();
  begin('a');
  opens[0]!.done('opened');
  const [first, second] = [sessions.take(0)!, sessions.take(0)!];
  expect(onceLine(second, ['PING']).slice(2)).toEqual([2, 1, 'PING']);
  first.session.release(1);
  expect(onceLine(second, ['PING']).slice(2)).toEqual([2, 2, 'PING']);
  second.session.release(2);
  expect(second.session.low).toBe(3);
});

test('a write that has its answer gives its number back, whatever the answer is', async () => {
  const answers = ['+OK\r\n', '-WRONGTYPE no\r\n', '+OK\r\n'];
  const peer = await Peer.start(([name]) => (name === 'KV.ONCE' ? answers.shift() : undefined));
  const { get } = scriptedPlacedriver({
    epoch: 1,
    nodes: [{ name: 'n0', port: peer.port }],
    partitions: [{ leader: 'n0', replicas: ['n0'] }],
  });
  const client = new Client({ placedrivers: ['p:1'] }, { get });
  try {
    for (const key of ['a', 'b', 'c']) await client.set(key, 1).catch(() => {});
    const onces = peer.lines.filter(([name]) => name === 'KV.ONCE');
    expect(onces.map(([, , sequence, low]) => `${sequence} ${low}`)).toEqual(['1 1', '2 2', '3 3']);
  } finally {
    client.disconnect();
    await peer.stop();
  }
});
