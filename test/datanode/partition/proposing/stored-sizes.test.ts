/** What a replica asks its engine before it proposes, and when those have their turn who are left for the next. */
import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import { limits } from '../../../../src/common/limits.ts';
import { seededRandom } from '../../../../src/common/random.ts';
import { decodeEnvelope } from '../../../../src/datanode/partition/entries/envelope.ts';
import { storedBytes } from '../../../../src/datanode/partition/proposing/value-sizes.ts';
import type { RequestGround } from '../../../../src/datanode/partition/replica/request-ground.ts';
import { Requests } from '../../../../src/datanode/partition/replica/requests.ts';
import { readGround } from '../read-ground.ts';

const stored = Buffer.alloc(limits.entryBytesMax);
const perTurn = Math.ceil(limits.rewrittenLooksBytes / (stored.length - 14));

/** Requests of a replica in whose engine every key has a value of `stored`. */
function setup(role: 'leader' | 'follower' = 'leader') {
  let [looks, turns, lastIndex] = [0, 0, 0];
  const entries: number[] = [];
  const engine = {
    getSync: () => {
      looks++;
      return stored;
    },
  };
  const raft = {
    role,
    term: 1,
    committed: 0,
    get lastIndex() {
      return lastIndex;
    },
    propose: (data: readonly Buffer[]) => {
      if (role !== 'leader') return { ok: false, refusal: 'not-leader' };
      const index = lastIndex + 1;
      lastIndex += data.length;
      for (const bytes of data) {
        const { body } = decodeEnvelope(bytes);
        entries.push(body.family === 'redis' ? body.lines.length : 0);
      }
      return { ok: true, term: 1, index };
    },
  };
  const ground = {
    ...readGround,
    clock: systemClock,
    random: seededRandom('sizes'),
    raft,
    cohort: { note: () => {}, mayLeave: () => true, stop: () => {} },
    hasOlderNodes: () => false,
    wake: () => {},
    requestTurn: () => turns++,
    engine: () => engine,
    termOf: () => 1,
    pace: undefined,
    onFault: () => {},
  };
  const share = { firstSlot: 0, lastSlot: 16_383 };
  const requests = new Requests(ground as unknown as RequestGround, share as never);
  const expire = (key: string) =>
    requests.gather({
      namespace: 'default',
      partition: 0,
      kind: 'write',
      protocol: 2,
      lines: [['EXPIRE', key, '100'].map((word) => Buffer.from(word))],
      term: undefined,
      deadlineMs: Number.POSITIVE_INFINITY,
    });
  const turnsAsked = () => {
    const asked = turns;
    turns = 0;
    return asked;
  };
  return { requests, entries, expire, turnsAsked, looks: () => looks };
}

test('whoever is left for the next turn is given one, and asks for no more when all have had theirs', () => {
  const { requests, entries, expire, turnsAsked, looks } = setup();
  for (let at = 0; at <= 2 * perTurn; at++) void expire(`k${at}`);
  turnsAsked();
  for (const left of [perTurn + 1, 1, 0]) {
    entries.length = 0;
    requests.flush();
    expect(entries.length).toBe(left === 0 ? 1 : perTurn);
    expect(requests.waiting.writes).toBe(2 * perTurn + 1);
    expect(turnsAsked()).toBe(left === 0 ? 0 : 1);
  }
  expect(looks()).toBe(2 * perTurn + 1);
});

test('whoever does not lead looks at nothing: what it proposes is refused', async () => {
  const { requests, expire, looks } = setup('follower');
  const refused = expire('k');
  requests.flush();
  expect(await refused).toMatchObject([{ ok: false, code: 'NOT_LEADER' }]);
  expect(looks()).toBe(0);
});

test('a number that is known unread, and what cannot be read, count for nothing', () => {
  const key = Buffer.from('k');
  let reads = 0;
  const getSync = () => {
    reads++;
    return stored;
  };
  expect(storedBytes({ getSync, knownValue: () => Buffer.from('7') }, key)).toBe(0);
  expect(reads).toBe(0);
  expect(storedBytes({ getSync, knownValue: () => undefined }, key)).toBe(stored.length - 14);
  expect(storedBytes({ getSync: () => undefined }, key)).toBe(0);
  const fails = () => {
    throw new Error('closing');
  };
  expect(storedBytes({ getSync: fails }, key)).toBe(0);
});
