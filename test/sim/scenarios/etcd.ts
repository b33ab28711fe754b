/** What was found in etcd and in others whose disks or rounds did not hold what they promised. */
import { type Scenario, scenario } from './scenario.ts';
import { FIRST, type Scene } from './scene.ts';

export const etcd: readonly Scenario[] = [
  scenario(
    'etcd 3.4.3: a master that stood still goes on as master',
    { partitions: 2 },
    async (scene) => {
      await scene.whole();
      const { cluster } = scene;
      await scene.until('a master', () => cluster.operator !== undefined);
      const former = cluster.operator!;
      const [to] = scene.followers() as [string];
      const [elsewhere] = scene.followers(1) as [string];
      // what it writes is long on its way, and its lease runs out meanwhile
      cluster.meta.latencyMs = 5_000;
      let outcome = 'open';
      former.transferLeader(FIRST, to).then(
        () => (outcome = 'done'),
        (error: { code?: string }) => (outcome = String(error.code)),
      );
      await scene.pass(1);
      cluster.meta.latencyMs = 1;
      const resume = cluster.pauseDriver();
      cluster.startDriver();
      await scene.until('another master', () => cluster.operator !== undefined, 4_000);
      // nothing of what the former one has seen changes
      const other = { ...FIRST, partition: 1 };
      await scene.operate((operator) => operator.transferLeader(other, elsewhere));
      await scene.pass(10_000);
      resume();
      await scene.until('an end of what the former one was asked', () => outcome !== 'open');
      scene.expect(outcome !== 'done', 'the former master writes the table');
      await scene.whole();
    },
  ),

  scenario(
    'etcd #13766: applied index and data part company in a crash',
    { clients: 3, thinkMs: 2, engineStalls: { share: 0.3, ms: 50 } },
    async (scene) => {
      await scene.whole();
      for (const at of [0, 1, 2, 0]) {
        await scene.pass(120);
        scene.restart(scene.names[at]!, at === 1 ? 'process' : 'power');
        await scene.leaderAmong(...scene.names);
      }
    },
  ),

  scenario('etcd #14140: a read shows a write that a loss of power takes', {}, async (scene) => {
    await scene.whole();
    for (let round = 0; round < 2; round++) {
      const leader = scene.leader();
      scene.slowDisks(60);
      const write = scene.send(leader, 'SET', 'r0', `round ${round}`);
      const reads: ReturnType<Scene['send']>[] = [];
      // whatever a read shows must be there afterwards
      while (!write.over && reads.length < 8) {
        reads.push(scene.send(leader, 'GET', 'r0'));
        await scene.pass(8);
      }
      scene.slowDisks(1);
      scene.restartAll('power');
      await scene.leaderAmong(...scene.names);
      for (const name of scene.names) await scene.ask(name, 'GET', 'r0');
    }
  }),

  scenario(
    'etcd #14370: a single node acknowledges before it is durable',
    { nodes: 1, replicas: 1 },
    async (scene) => {
      await scene.whole();
      for (let round = 0; round < 6; round++) {
        scene.slowDisks(100);
        await scene.must('n1', 'SET', 'r0', `round ${round}`);
        scene.restart('n1', 'power');
        scene.slowDisks(1);
        await scene.leaderAmong('n1');
        const got = await scene.must('n1', 'GET', 'r0');
        scene.expect(got === `round ${round}`, `r0 is ${got} after round ${round}`);
      }
    },
  ),

  scenario(
    'etcd #20418: a late answer to an old round of reads confirms a new read',
    { splitChance: 0, mergeChance: 0 },
    async (scene) => {
      await scene.whole();
      const leader = scene.leader();
      const [heir, late] = scene.followers() as [string, string];
      const { network } = scene.cluster;
      const client = scene.client(leader);
      await scene.answer(client.send('SET', 'r0', 'old'));
      await scene.level();
      // a round is on its way, and its answers are held up
      network.cut(late, leader);
      network.cut(heir, leader);
      scene.send(leader, 'GET', 'r0');
      // a tick later everybody is asked, not only who answers soonest
      await scene.pass(80);
      network.cut(leader, heir);
      network.cut(leader, late);
      scene.cluster.pause(leader);
      await scene.leaderAmong(heir, late);
      await scene.must(heir, 'SET', 'r0', 'new');
      scene.cluster.resume(leader);
      const read = client.send('GET', 'r0');
      await scene.pass(6);
      network.heal(late, leader);
      await scene.pass(100);
      scene.healAll();
      await scene.answer(read);
    },
  ),

  scenario('nats: what was acknowledged is gone after all have lost power', {}, async (scene) => {
    await scene.whole();
    for (let round = 0; round < 3; round++) {
      scene.slowDisks(60);
      await scene.fill(scene.leader(), 4, `round ${round} `, 4);
      scene.restartAll('power');
      scene.slowDisks(1);
      await scene.leaderAmong(...scene.names);
      const got = await scene.must('n1', 'GET', 'k3');
      scene.expect(got === `round ${round} 3`, `k3 is ${got} after round ${round}`);
    }
  }),

  scenario('nats: a damaged node leads with a shorter log', {}, async (scene) => {
    await scene.whole();
    const leader = scene.leader();
    const [damaged, other] = scene.followers() as [string, string];
    await scene.fill(leader, 10, 'x'.repeat(300), 1);
    await scene.level();
    scene.split([other], [leader, damaged]);
    await scene.must(leader, 'SET', 'r0', 'kept');
    scene.cluster.crash(leader, 'process');
    scene.cluster.crash(damaged, 'process');
    const machine = scene.cluster.machine(damaged);
    const logs = machine.disk.files().filter(({ path }) => path.startsWith('/data/log/'));
    // of the segments the first holds what was written, the next is made ahead
    const [log] = logs.sort((a, b) => (a.path < b.path ? -1 : 1));
    for (const sector of [3, 4, 5]) machine.flip(log!.path, sector * 512 + 40, 4);
    // without what is behind the damage the two would agree that it never was
    scene.healAll();
    scene.cluster.start(damaged);
    await scene.pass(2_000);
    scene.cluster.start(leader);
    await scene.whole();
    for (const node of [damaged, other]) {
      const got = await scene.must(node, 'GET', 'r0');
      scene.expect(got === 'kept', `${node}: r0 is ${got}`);
    }
  }),

  scenario('tidb: a write is sent again blindly', {}, async (scene) => {
    await scene.whole();
    for (let round = 0; round < 3; round++) {
      const leader = scene.leader();
      const [door] = scene.followers() as [string];
      const sent = [0, 1, 2].map((at) => scene.send(door, 'INCR', `n${at % 2}`));
      await scene.pass(2 + 2 * round);
      if (round === 2) scene.cluster.crash(leader, 'process');
      else scene.cluster.network.reset(door, leader);
      await scene.until('answers', () => sent.every(({ over }) => over));
      scene.cluster.start(leader);
      await scene.whole();
      for (const key of ['n0', 'n1']) await scene.must(door, 'GET', key);
    }
  }),

  scenario(
    'tidb: a fresh cluster acknowledges before its replicas are there',
    {},
    async (scene) => {
      let told: string | undefined;
      for (let tries = 0; told === undefined && tries < 50; tries++) {
        const reply = await scene.ask('n1', 'SET', 'r0', `try ${tries}`);
        if (reply?.kind === 'simple') told = `try ${tries}`;
        else await scene.pass(20);
      }
      const leader = scene.leader();
      const { voters } = scene.replica(leader)!.state.confState;
      scene.expect(voters.length === 3, `acknowledged by a group of voters ${voters}`);
      scene.wipe(leader);
      const heir = await scene.leaderAmong(...scene.names.filter((name) => name !== leader));
      const got = await scene.must(heir, 'GET', 'r0');
      scene.expect(got === told, `${told} was acknowledged, r0 is ${got}`);
    },
  ),

  scenario('redpanda: a read shows what is aborted', {}, async (scene) => {
    await scene.whole();
    const former = scene.leader();
    scene.isolate(former);
    scene.send(former, 'SET', 'r1', 'aborted');
    const reads = [0, 1, 2].map(() => scene.send(former, 'GET', 'r1'));
    const heir = await scene.leaderAmong(...scene.names.filter((name) => name !== former));
    await scene.must(heir, 'SET', 'r0', 'kept');
    scene.healAll();
    await scene.until('answers', () => reads.every(({ over }) => over));
    await scene.whole();
    scene.expect((await scene.must(former, 'GET', 'r0')) === 'kept', 'r0 is not what was kept');
  }),

  scenario(
    'redpanda: a numbered write that is sent again is done twice',
    { clients: 4, thinkMs: 2 },
    async (scene) => {
      await scene.whole();
      for (let round = 0; round < 3; round++) {
        await scene.pass(150);
        const leader = scene.leads();
        if (leader === undefined) continue;
        if (round === 1) scene.restart(leader, 'process');
        for (const name of scene.names)
          if (name !== leader) scene.cluster.network.reset(name, leader);
      }
      await scene.pass(300);
    },
  ),

  scenario(
    'tigerbeetle: a node loses its whole disk, and the next one after it',
    { clients: 2 },
    async (scene) => {
      await scene.whole();
      for (const name of scene.names.slice(0, 2)) {
        scene.wipe(name);
        await scene.leaderAmong(...scene.names.filter((other) => other !== name));
        await scene.must(scene.leader(), 'SET', 'r0', `without ${name}`);
        scene.cluster.start(name);
        await scene.whole();
      }
    },
  ),

  scenario(
    'tigerbeetle: a client tries for ever and tells nobody',
    {
      sdk: [
        {
          kind: 'sessions',
          patient: false,
          loops: 2,
          timeoutMs: 1_000,
          attemptTimeoutMs: 200,
          lookupMs: 300,
          maxInFlight: 4,
          maxQueued: 8,
        },
      ],
    },
    async (scene) => {
      await scene.whole();
      await scene.pass(500);
      // nobody can be led: every call must end by its own time
      scene.split(['n1'], ['n2', 'n3']);
      scene.split(['n2'], ['n3']);
      await scene.pass(3_000);
      scene.healAll();
      await scene.leaderAmong(...scene.names);
    },
  ),
];
