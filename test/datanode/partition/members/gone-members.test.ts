/** Members that are said to be gone are told of once, and forgotten with their group. */
import { afterEach, expect, test } from 'vitest';
import { GoneMembers } from '../../../../src/datanode/partition/members/gone-members.ts';
import { isStandingQuery } from '../../../../src/datanode/partition/members/standing.ts';
import type { WireMessage } from '../../../../src/datanode/raft/message.ts';
import { Trio } from '../trio.ts';

let trio: Trio | undefined;

afterEach(async () => {
  await trio?.destroy();
  trio = undefined;
});

test('its node is asked why until it has answered, and then never again', async () => {
  const asked: number[] = [];
  let answers = false;
  const gone = new GoneMembers(async (_node, { replica }) => {
    asked.push(replica);
    return answers;
  });
  expect(gone.isNew('n2', { group: 1, replica: 9 })).toBe(true);
  await new Promise((resolve) => setImmediate(resolve));
  answers = true;
  expect(gone.isNew('n2', { group: 1, replica: 9 })).toBe(false);
  await new Promise((resolve) => setImmediate(resolve));
  expect(gone.isNew('n2', { group: 1, replica: 9 })).toBe(false);
  expect(asked).toEqual([9, 9]);
  expect(gone.isNew('n2', { group: 1, replica: 10 })).toBe(true);
});

test('of a group in which replicas come and go without end some are kept', async () => {
  const gone = new GoneMembers(async () => true);
  const replicas = Array.from({ length: 1_000 }, (_, at) => at);
  for (const replica of replicas) gone.isNew('n2', { group: 1, replica });
  const known = replicas.filter((replica) => !gone.isNew('n2', { group: 1, replica }));
  expect(known.length).toBeLessThan(64);
});

test('what was known of a group goes with its replica', async () => {
  trio = new Trio();
  const scene = trio;
  for (const node of ['n1', 'n2', 'n3']) await scene.start(node);
  await scene.leader();
  let asked = 0;
  const other = scene.hosts.get('n1')!;
  const { onRequest } = other;
  other.onRequest = (from, body) => {
    if (isStandingQuery(body)) asked++;
    return onRequest.call(other, from, body);
  };
  const tellGone = (to: number) => {
    const message = { type: 'gone', from: 99, to, term: 0 } as WireMessage;
    scene.hosts.get('n3')!.onMessages('n1', [{ group: 1, message }]);
  };
  for (let times = 0; times < 3; times++) tellGone(3);
  await expect.poll(() => asked).toBe(1);
  const [first, second] = scene.record.replicas;
  await scene.want([first!, second!]);
  await expect.poll(() => scene.hosts.get('n3')!.replicas()).toEqual([]);
  await scene.want([first!, second!, { replica: 4, node: 'n3', incarnation: 'i' }]);
  await expect.poll(() => scene.hosts.get('n3')!.replicas().length).toBe(1);
  tellGone(4);
  await expect.poll(() => asked).toBe(2);
});
