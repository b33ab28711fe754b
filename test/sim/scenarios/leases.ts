/** Leases, clocks and deadlines: etcd and Consul of 2014, and what every store gets wrong once. */
import { type Scenario, scenario } from './scenario.ts';

const leases = { reads: 'lease', leasePromiseMs: 1_500 } as const;

export const leaseScenarios: readonly Scenario[] = [
  scenario('consul: a leader answers reads alone', {}, async (scene) => {
    await scene.whole();
    const former = scene.leader();
    await scene.must(former, 'SET', 'r0', 'old');
    scene.isolate(former);
    scene.cluster.pause(former);
    const heir = await scene.leaderAmong(...scene.names.filter((name) => name !== former));
    await scene.must(heir, 'SET', 'r0', 'new');
    scene.cluster.resume(former);
    const reads = [0, 1, 2].map(() => scene.send(former, 'GET', 'r0'));
    await scene.pass(300);
    scene.healAll();
    await scene.until('answers', () => reads.every(({ over }) => over));
  }),

  scenario(
    'etcd 2014: a lease is believed after a pause',
    { ...leases, leasePromiseMs: 500 },
    async (scene) => {
      await scene.whole();
      const former = scene.leader();
      const client = scene.client(former);
      await scene.answer(client.send('SET', 'r0', 'old'));
      for (let at = 0; at < 5; at++) await scene.answer(client.send('GET', 'r0'));
      scene.isolate(former);
      scene.cluster.pause(former);
      const heir = await scene.leaderAmong(...scene.names.filter((name) => name !== former));
      await scene.must(heir, 'SET', 'r0', 'new');
      scene.cluster.resume(former);
      const read = client.send('GET', 'r0');
      await scene.pass(50);
      scene.healAll();
      await scene.answer(read);
    },
  ),

  scenario('etcd 2014: a voter forgets by a restart what it promised', leases, async (scene) => {
    await scene.whole();
    const former = scene.leader();
    const others = scene.followers();
    const client = scene.client(former);
    await scene.answer(client.send('SET', 'r0', 'old'));
    for (let at = 0; at < 5; at++) await scene.answer(client.send('GET', 'r0'));
    scene.isolate(former);
    scene.cluster.pause(former);
    for (const name of others) scene.restart(name, 'process');
    const written = scene.send(others[0]!, 'SET', 'r0', 'new');
    await scene.pass(1_200);
    scene.cluster.resume(former);
    const read = client.send('GET', 'r0');
    await scene.pass(100);
    scene.healAll();
    await scene.answer(read);
    await scene.answer(written);
  }),

  scenario(
    'others: a clock that jumps breaks a lease',
    { ...leases, leasePromiseMs: 500 },
    async (scene) => {
      await scene.whole();
      for (const byMs of [60_000, -60_000]) {
        const former = scene.leader();
        const client = scene.client(former);
        for (let at = 0; at < 5; at++) await scene.answer(client.send('GET', 'r0'));
        const machine = scene.cluster.machine(former);
        machine.offsetMs += byMs;
        machine.life?.clock.jump(byMs);
        scene.isolate(former);
        const heir = await scene.leaderAmong(...scene.names.filter((name) => name !== former));
        await scene.must(heir, 'SET', 'r0', `after ${byMs}`);
        const read = client.send('GET', 'r0');
        await scene.pass(50);
        scene.healAll();
        await scene.answer(read);
        await scene.whole();
      }
    },
  ),

  scenario('others: one clock takes all deadlines along', { clients: 0 }, async (scene) => {
    await scene.whole();
    const leader = scene.leader();
    for (const byMs of [60_000, -60_000]) {
      await scene.must(leader, 'SET', 'e0', 'v', 'PX', '4000');
      scene.jump(leader, byMs);
      for (let at = 0; at < 10; at++) {
        await scene.must(leader, 'SET', 'r0', `${at}`);
        const value = await scene.must(leader, 'GET', 'e0');
        scene.expect(value !== 'null', `e0 is gone, ${at}00 ms after the clock was set`);
        await scene.pass(100);
      }
    }
    // its own clock is the first that a process knows
    for (const name of scene.names) {
      await scene.must(scene.leader(), 'SET', 'e0', 'v', 'PX', '20000');
      scene.jump(name, 60_000);
      const [other, away] = scene.names.filter((one) => one !== name) as [string, string];
      scene.restartAll('process');
      scene.cluster.crash(away, 'process');
      const leader = await scene.leaderAmong(name, other);
      await scene.must(leader, 'SET', 'r0', `after ${name}`);
      const value = await scene.must(leader, 'GET', 'e0');
      scene.expect(value !== 'null', `e0 is gone after a start of ${name}`);
      scene.jump(name, -60_000);
      scene.cluster.start(away);
      await scene.whole();
    }
  }),

  scenario('others: expired keys differ between replicas', {}, async (scene) => {
    await scene.whole();
    const former = scene.leader();
    // its clock is set, and the others tell it that it is ahead
    scene.jump(former, 60_000);
    await scene.pass(3_000);
    await scene.must(former, 'SET', 'e0', 'v', 'PX', '2500');
    for (let at = 0; at < 3; at++) await scene.must(former, 'GET', 'e0');
    scene.isolate(former);
    const heir = await scene.leaderAmong(...scene.names.filter((name) => name !== former));
    for (let at = 0; at < 30; at++) {
      await scene.must(heir, 'GET', 'e0');
      await scene.pass(100);
    }
    scene.healAll();
    await scene.whole();
    for (const name of scene.names) {
      scene.expect((await scene.must(name, 'GET', 'e0')) === 'null', `${name} has it yet`);
    }
  }),

  scenario(
    'others: a key that was gone is there again after a failover',
    { tickMs: 10 },
    async (scene) => {
      await scene.whole();
      for (let round = 0; round < 6; round++) {
        const former = scene.leader();
        const others = scene.followers();
        const key = `e${round}`;
        await scene.must(former, 'SET', key, 'v', 'PX', '600');
        // group time goes 500 ms ahead of the other clocks with it, and whoever leads next knows nothing of that
        scene.jump(former, 60_000);
        while ((await scene.must(former, 'GET', key)) !== 'null') await scene.pass(1);
        scene.isolate(former);
        const heir = await scene.leaderAmong(...others);
        scene.expect((await scene.must(heir, 'GET', key)) === 'null', `${key} is there again`);
        scene.healAll();
        for (const name of others) scene.jump(name, 60_000);
        await scene.whole();
      }
    },
  ),
];
