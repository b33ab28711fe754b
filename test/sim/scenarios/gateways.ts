/**
 * Writes of clients of the very node that leads, while that node lives on and its replica does not:
 * each is answered, with what it came to, and takes effect once.
 */
import { limits } from '../../../src/common/limits.ts';
import { textOf } from '../call.ts';
import { meaningOf } from '../workload.ts';
import { type Scenario, scenario } from './scenario.ts';
import type { Scene, SceneClient, Sent } from './scene.ts';

const shortLog = { logKeepEntries: 3, logKeepBytes: 200, logHeldBytes: 2_000 };
const CLIENTS = 6;

/** Each counts a key of its own, and keeps its connection. */
function count(clients: readonly SceneClient[]): readonly Sent[] {
  return clients.map((client, at) => client.send('INCR', `n${at}`));
}

/** All of them are answered with the number `expected`. */
async function expectCounts(scene: Scene, sent: readonly Sent[], expected: number): Promise<void> {
  await scene.until('answers', () => sent.every(({ over }) => over));
  for (const { reply } of sent) {
    const got = await reply;
    scene.expect(meaningOf(got) === 'known', `a client of the gateway is told ${textOf(got)}`);
    scene.expect(textOf(got) === String(expected), `INCR answers ${textOf(got)}, not ${expected}`);
  }
}

export const gateways: readonly Scenario[] = [
  scenario(
    'gateways: an EXEC whose watch is broken is forwarded in a turn with writes of others',
    { turnMs: 4 },
    async (scene) => {
      await scene.whole();
      const [gateway] = scene.followers() as [string];
      const [watcher, ...others] = Array.from({ length: CLIENTS }, () => scene.client(gateway));
      const asked = async (...words: string[]) =>
        textOf(await scene.answer(watcher!.tell(...words)));
      await expectCounts(scene, count(others), 1);
      for (let round = 2; round < 6; round++) {
        await asked('WATCH', 'watched');
        await scene.answer(scene.client(scene.leader()).tell('SET', 'watched', `theirs ${round}`));
        await asked('MULTI');
        await asked('SET', 'watched', 'mine');
        const sent = count(others);
        const reply = await asked('EXEC');
        scene.expect(
          reply === 'nullArray',
          `EXEC answers ${reply}, and another wrote what it watched`,
        );
        await expectCounts(scene, sent, round);
        const value = await asked('GET', 'watched');
        scene.expect(value === `theirs ${round}`, `what is watched is ${value}`);
      }
    },
  ),

  scenario('gateways: the replica of their own node fails by its disk', {}, async (scene) => {
    await scene.whole();
    const leader = scene.leader();
    const clients = Array.from({ length: CLIENTS }, () => scene.client(leader));
    await expectCounts(scene, count(clients), 1);
    const machine = scene.cluster.machine(leader);
    machine.diskFaults++;
    machine.diskFaulted = true;
    machine.disk.failNext('pwrite', { code: 'EIO', path: '/engines/' });
    const sent = count(clients);
    await scene.until('a replica that has stopped', () => scene.replica(leader) === undefined);
    await expectCounts(scene, sent, 2);
    machine.diskFaults--;
    machine.disk.forgetFaults();
    await scene.whole();
    await expectCounts(scene, count(clients), 3);
  }),

  scenario(
    'gateways: their node is cut off for longer than requests are held',
    {},
    async (scene) => {
      await scene.whole();
      const leader = scene.leader();
      const clients = Array.from({ length: CLIENTS }, () => scene.client(leader));
      await expectCounts(scene, count(clients), 1);
      scene.isolate(leader);
      // appended there, and nowhere else
      const sent = count(clients);
      await scene.leaderAmong(...scene.names.filter((name) => name !== leader));
      await scene.pass(5_200);
      scene.expect(
        sent.every(({ over }) => !over),
        'a client is told something that nobody can know',
      );
      scene.healAll();
      await scene.until('answers', () => sent.every(({ over }) => over));
      // never committed, and held for too long to be proposed again: that is what they are told
      for (const { reply } of sent) {
        const got = await reply;
        scene.expect(meaningOf(got) === 'refused', `a client is told ${textOf(got)}`);
      }
      await expectCounts(scene, count(clients), 2);
    },
  ),

  scenario(
    'gateways: what the others committed comes back as a snapshot',
    shortLog,
    async (scene) => {
      await scene.whole();
      const leader = scene.leader();
      const clients = Array.from({ length: CLIENTS }, () => scene.client(leader));
      await expectCounts(scene, count(clients), 1);
      // entries get there, and word of that does not come back
      for (const name of scene.followers()) scene.cluster.network.cut(name, leader);
      const sent = count(clients);
      await scene.pass(30);
      scene.isolate(leader);
      const others = scene.names.filter((name) => name !== leader);
      const heir = await scene.leaderAmong(...others);
      for (let at = 0; at < CLIENTS; at++) {
        const got = await scene.must(heir, 'GET', `n${at}`);
        scene.expect(got === '2', `n${at} is ${got} at ${heir}`);
      }
      // the log that tells of them is gone
      await scene.fill(heir, 60, 'x'.repeat(100), 4);
      await scene.pass(300);
      const first = scene.replica(heir)!.inspect().log.base.index + 1;
      const applied = scene.replica(leader)!.appliedIndex;
      scene.expect(first > applied + 1, `the log of ${heir} still begins at ${first}`);
      scene.healAll();
      await expectCounts(scene, sent, 2);
      await scene.whole();
      await expectCounts(scene, count(clients), 3);
    },
  ),

  scenario('gateways: nobody can tell for a minute', {}, async (scene) => {
    await scene.whole();
    const leader = scene.leader();
    const patienceMs = 2 * limits.outcomeWaitMs;
    const clients = Array.from({ length: CLIENTS }, () => scene.client(leader, patienceMs));
    await expectCounts(scene, count(clients), 1);
    // entries get there, and word of that does not come back
    for (const name of scene.followers()) scene.cluster.network.cut(name, leader);
    const sent = count(clients);
    await scene.pass(30);
    scene.isolate(leader);
    await scene.leaderAmong(...scene.names.filter((name) => name !== leader));
    scene.cluster.outcomesMayEnd = true;
    await scene.until('an end', () => sent.every(({ over }) => over), 1.2 * limits.outcomeWaitMs);
    // they have taken effect: any reply that says otherwise, or that nobody knows, is wrong
    for (const { reply } of sent) {
      const got = await reply;
      scene.expect(got === undefined, `a client is told ${got && textOf(got)}`);
    }
    scene.healAll();
    await scene.whole();
    await expectCounts(scene, count(clients), 3);
  }),

  scenario(
    'gateways: a leader that stood still and its gateway are a minority',
    { nodes: 5, replicas: 5 },
    async (scene) => {
      await scene.whole();
      const leader = scene.leader();
      const [gateway, ...others] = scene.followers() as [string, ...string[]];
      await scene.must(leader, 'SET', 'k', 'old');
      const client = scene.client(gateway);
      const before = textOf(await scene.answer(client.tell('GET', 'k')));
      scene.expect(before === 'old', `what was written is read as ${before}`);
      scene.split([leader, gateway], others);
      // nobody tells the gateway of another leader
      scene.cluster.meta.available = false;
      scene.cluster.pause(leader);
      const heir = await scene.leaderAmong(...others);
      await scene.must(heir, 'SET', 'k', 'new');
      const late = client.tell('GET', 'k');
      await scene.pass(20);
      // it finds the question before it finds out that nobody follows it
      scene.cluster.resume(leader);
      await scene.pass(300);
      scene.healAll();
      scene.cluster.meta.available = true;
      const got = textOf(await scene.answer(late));
      scene.expect(got !== 'old', 'a gateway reads what was overwritten');
    },
  ),

  scenario(
    'gateways: one without a replica, while the store is away, and another leads',
    { nodes: 4 },
    async (scene) => {
      await scene.whole();
      const gateway = scene.spare();
      const client = scene.client(gateway);
      const increment = async (expected: string) => {
        const got = textOf(await scene.answer(client.send('INCR', 'n')));
        scene.expect(got === expected, `INCR answers ${got}, not ${expected}`);
        const read = textOf(await scene.answer(client.send('GET', 'n')));
        scene.expect(read === expected, `GET answers ${read}, not ${expected}`);
      };
      await increment('1');
      scene.cluster.meta.available = false;
      const [leader, followers] = [scene.leader(), scene.followers()];
      scene.cluster.crash(leader, 'process');
      const heir = await scene.leaderAmong(...followers);
      await increment('2');
      // its connections live on
      scene.replica(heir)!.handOver();
      await scene.leaderAmong(...followers.filter((name) => name !== heir));
      await increment('3');
      // it can lead again only once every member's node has answered
      scene.cluster.start(leader);
      await scene.leaderAmong(leader);
      await increment('4');
      scene.cluster.meta.available = true;
      await scene.whole();
      await increment('5');
    },
  ),
];
