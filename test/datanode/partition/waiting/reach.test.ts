import { describe, expect, test } from 'vitest';
import {
  type Carried,
  reachOf,
  servedBefore,
} from '../../../../src/datanode/partition/waiting/reach.ts';

function waiter(keys: string, fills?: string, asked = false): Carried {
  const form = { keys: keys.split(' ').map((key) => Buffer.from(key)) };
  return { form: fills === undefined ? form : { ...form, fills: Buffer.from(fills) }, asked };
}

const reached = (waiters: Carried[], filled: string[], ended = true) =>
  [...reachOf(waiters, filled, ended)].sort();

describe('what clients may change that an entry serves', () => {
  test('of the keys they wait for those that were filled', () => {
    expect(reached([waiter('a b')], ['b', 'c'])).toEqual(['b']);
    expect(reached([waiter('a b')], ['c'])).toEqual([]);
  });

  test('where they move it to, and who waits there in turn', () => {
    const chain = [waiter('c', 'd'), waiter('b', 'c'), waiter('a', 'b')];
    expect(reached(chain, ['a'])).toEqual(['a', 'b', 'c', 'd']);
    expect(reached(chain, ['b'])).toEqual(['b', 'c', 'd']);
  });

  test('a key that is filled later, of one that another has filled', () => {
    expect(reached([waiter('a b'), waiter('a', 'b')], ['a'])).toEqual(['a', 'b']);
  });

  test('all of those that run as they were sent, at the end of the entry at the latest', () => {
    const asked = waiter('a b', 'c', true);
    expect(reached([asked], [])).toEqual(['a', 'b', 'c']);
    expect(reached([asked], [], false)).toEqual([]);
    expect(reached([asked], ['b'], false)).toEqual(['a', 'b', 'c']);
  });
});

test('before a command are the entries before its own, and the commands before it', () => {
  const line = (text: string) => text.split(' ').map((word) => Buffer.from(word));
  const fills = (key: string) => new Map([[key, 1]]);
  const earlier = { waiters: [waiter('a', 'b')], fills: fills('a') };
  const own = { waiters: [waiter('c', 'd'), waiter('e', 'f', true)], fills: fills('c') };
  const names = (before: string[]) => [...servedBefore([earlier], own, before.map(line))].sort();
  expect(names([])).toEqual(['a', 'b']);
  expect(names(['RPUSH c x'])).toEqual(['a', 'b', 'c', 'd']);
});

test('a script before it may have filled whatever those wait for whom the entry carries', () => {
  const line = (text: string) => text.split(' ').map((word) => Buffer.from(word));
  const own = { waiters: [waiter('c', 'd'), waiter('e')], fills: new Map<string, number>() };
  const names = (before: string[]) => [...servedBefore([], own, before.map(line))].sort();
  expect(names(['EVAL_RO s 1 c'])).toEqual([]);
  expect(names(['EVALSHA s 0'])).toEqual(['c', 'd', 'e']);
});
