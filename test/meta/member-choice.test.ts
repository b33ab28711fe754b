import { GRPCUnavailableError } from 'etcd3';
import { expect, test } from 'vitest';
import { MemberChoice } from '../../src/meta/etcd-members.ts';
import { ManualClock } from '../datanode/raftlog/manual-clock.ts';

/** Of each member: whether it is asked. */
function members(...names: readonly string[]) {
  const clock = new ManualClock();
  const choice = new MemberChoice(clock);
  const policies = new Map(names.map((name) => [name, choice.policyOf(name)]));
  const silent = new Set<string>();
  const asked = async (name: string) => {
    let isAsked = false;
    const run = async () => {
      isAsked = true;
      if (silent.has(name)) throw new GRPCUnavailableError('gone');
    };
    await policies
      .get(name)!
      .execute(run)
      .catch(() => {});
    return isAsked;
  };
  return { clock, silent, asked };
}

test('a member that did not answer is left alone for half a minute, and asked then', async () => {
  const { clock, silent, asked } = members('a', 'b');
  silent.add('a');
  expect([await asked('a'), await asked('a'), await asked('b')]).toEqual([true, false, true]);
  clock.spend(29_000);
  expect(await asked('a')).toBe(false);
  clock.spend(1_001);
  silent.clear();
  expect([await asked('a'), await asked('a')]).toEqual([true, true]);
});

test('when none of them answers all are asked; so is an only one', async () => {
  const { silent, asked } = members('a', 'b');
  for (const name of ['a', 'b']) {
    silent.add(name);
    expect(await asked(name)).toBe(true);
  }
  expect([await asked('a'), await asked('b')]).toEqual([true, true]);
  const lone = members('a');
  lone.silent.add('a');
  expect([await lone.asked('a'), await lone.asked('a')]).toEqual([true, true]);
});
