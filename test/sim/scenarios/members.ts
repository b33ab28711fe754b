/** Members that change while things break: Redis-Raft, its nemeses, RethinkDB, Dgraph. */
import { type Scenario, scenario } from './scenario.ts';
import { FIRST } from './scene.ts';

const four = { nodes: 4, clients: 2, thinkMs: 10 };

export const members: readonly Scenario[] = [
  scenario(
    'redis-raft #17 #28 #44: updates are lost when members change in a partition',
    four,
    async (scene) => {
      await scene.whole();
      const leader = scene.leader();
      const [from] = scene.followers() as [string];
      await scene.move(from, scene.spare());
      await scene.pass(30);
      scene.isolate(leader);
      await scene.pass(1_000);
      scene.healAll();
      await scene.whole();
    },
  ),

  scenario(
    'redis-raft #44: members are lost in a snapshot of the second generation',
    { logKeepEntries: 3, logKeepBytes: 200, logHeldBytes: 2_000 },
    async (scene) => {
      await scene.whole();
      await scene.fill(scene.leader(), 6, 'v', 1);
      // each is filled by one that was filled
      for (const name of scene.names) {
        scene.wipe(name);
        await scene.leaderAmong(...scene.names.filter((other) => other !== name));
        scene.cluster.start(name);
        await scene.whole();
        await scene.must(name, 'SET', 'r0', `without ${name}`);
      }
      for (const name of scene.names) {
        const { voters } = scene.replica(name)!.state.confState;
        scene.expect(voters.length === 3, `${name} knows of voters ${voters}`);
      }
    },
  ),

  scenario(
    'redis-raft #48 #49 #50: a crash when a member is removed',
    { ...four, clients: 1 },
    async (scene) => {
      await scene.whole();
      for (const afterMs of [5, 60, 150]) {
        const [from] = scene.followers() as [string];
        await scene.move(from, scene.spare());
        await scene.pass(afterMs);
        const leader = scene.leads();
        if (leader !== undefined) scene.restart(leader, 'process');
        scene.restart(from, 'process');
        await scene.whole();
      }
    },
  ),

  scenario(
    'redis-raft: messages to a former incarnation of a node are taken',
    {},
    async (scene) => {
      await scene.whole();
      const leader = scene.leader();
      const [home] = scene.followers() as [string];
      const { id } = scene.replica(home)!;
      // what the leader and the other have for it is still on its way
      scene.cluster.pause(leader);
      scene.wipe(home);
      scene.cluster.start(home);
      await scene.pass(300);
      scene.cluster.resume(leader);
      await scene.whole();
      scene.expect(scene.replica(home)!.id !== id, `the wiped node has replica ${id} again`);
      await scene.must(home, 'SET', 'r0', 'filled');
    },
  ),

  scenario(
    'redis-raft, island: a leader that is alone is asked to remove all others',
    { nodes: 5 },
    async (scene) => {
      await scene.whole();
      const leader = scene.leader();
      const others = scene.followers();
      scene.isolate(leader);
      for (const other of others) {
        // the master may well refuse: there is nobody to take its place
        scene.cluster.operatorMoves = true;
        await scene.settled(scene.cluster.operator!.removeReplica(FIRST, other)).catch(() => {});
      }
      scene.send(leader, 'SET', 'r1', 'of an island');
      await scene.pass(500);
      const heir = await scene.leaderAmong(...others);
      await scene.must(heir, 'SET', 'r0', 'of the others');
      scene.healAll();
      await scene.whole();
      const reply = await scene.must(leader, 'GET', 'r0');
      scene.expect(reply === 'of the others', `r0 is ${reply}`);
    },
  ),

  scenario(
    'redis-raft, nemesis: members leave and join, and all are killed between',
    { ...four, clients: 1 },
    async (scene) => {
      await scene.whole();
      for (const how of ['process', 'power', 'process'] as const) {
        await scene.move(scene.followers()[0]!, scene.spare());
        await scene.pass(80);
        scene.restartAll(how);
        await scene.whole();
      }
    },
  ),

  scenario(
    'redis-raft, nemesis: a member is removed and joins again',
    { clients: 1 },
    async (scene) => {
      await scene.whole();
      const [home] = scene.followers() as [string];
      for (let round = 0; round < 2; round++) {
        const { id } = scene.replica(home)!;
        await scene.change((operator) => operator.removeReplica(FIRST, home));
        const isNew = () => (scene.replica(home)?.id ?? id) !== id;
        await scene.until('another replica', isNew);
        await scene.whole();
      }
    },
  ),

  scenario('rethinkdb: a wiped replica votes under its old id', {}, async (scene) => {
    await scene.whole();
    const leader = scene.leader();
    const [holder, other] = scene.followers() as [string, string];
    await scene.must(leader, 'SET', 'r0', 'old');
    await scene.level();
    scene.split([other], [leader, holder]);
    await scene.must(leader, 'SET', 'r0', 'new');
    scene.cluster.crash(leader, 'process');
    // two of three nodes are there, and what was written is on neither
    scene.wipe(holder);
    scene.healAll();
    scene.cluster.start(holder);
    await scene.pass(2_000);
    scene.cluster.start(leader);
    await scene.whole();
    scene.expect((await scene.must(other, 'GET', 'r0')) === 'new', 'the write is lost');
  }),

  scenario(
    'rethinkdb: replicas that were removed elect a leader of their own',
    { nodes: 5 },
    async (scene) => {
      await scene.whole();
      const leader = scene.leader();
      const removed = scene.followers();
      const stay = scene.names.filter((name) => !removed.includes(name));
      for (const from of removed) {
        scene.split([from], stay);
        await scene.move(from, scene.spare(removed));
        const { id } = scene.replica(from)!;
        const gone = () => {
          const { voters, votersOutgoing } = scene.replica(leader)!.state.confState;
          return !voters.includes(id) && votersOutgoing.length === 0;
        };
        await scene.until(`the members without ${from}`, gone);
      }
      // together they were a quorum of the former members
      const sent = removed.map((name) => scene.send(name, 'SET', 'r0', 'of the removed'));
      await scene.must(leader, 'SET', 'r0', 'of the members');
      await scene.pass(1_000);
      scene.healAll();
      for (const one of sent) await scene.answer(one);
      await scene.whole();
      for (const name of removed)
        scene.expect(scene.replica(name) === undefined, `${name} holds it yet`);
    },
  ),

  scenario(
    'dgraph: a shard that moves under load loses data',
    { nodes: 4, clients: 4, keys: 2, thinkMs: 2 },
    async (scene) => {
      await scene.whole();
      for (let round = 0; round < 2; round++) {
        const from = round === 0 ? scene.leader() : scene.followers()[0]!;
        const to = scene.spare();
        await scene.move(from, to);
        await scene.until('the move', () => scene.replica(from) === undefined);
        await scene.whole();
      }
    },
  ),

  scenario(
    'dgraph: leaders die while a node is emptied',
    { nodes: 4, partitions: 2, clients: 3, thinkMs: 5 },
    async (scene) => {
      await scene.whole();
      const from = scene.leader();
      await scene.change((operator) => operator.drain(from));
      for (let round = 0; round < 2; round++) {
        await scene.pass(250);
        const leader = scene.leads();
        if (leader !== undefined) scene.restart(leader, 'power');
      }
      const empty = () => [0, 1].every((partition) => scene.replica(from, partition) === undefined);
      await scene.until('an empty node', empty, 30_000);
    },
  ),

  scenario(
    'others: a learner is counted in the quorum',
    { nodes: 4, bytesPerMs: 100 },
    async (scene) => {
      await scene.whole();
      const leader = scene.leader();
      const [from, other] = scene.followers() as [string, string];
      const to = scene.spare();
      await scene.fill(leader, 6, 'x'.repeat(2_000), 1);
      await scene.move(from, to);
      await scene.until(
        'a learner',
        () => scene.replica(leader)!.state.confState.learners.length > 0,
      );
      // the leader and the learner are left of it
      scene.split([from, other], [leader, to]);
      const sent = scene.send(leader, 'SET', 'r0', 'with a learner');
      const heir = await scene.leaderAmong(from, other);
      await scene.must(heir, 'SET', 'r0', 'with a quorum');
      scene.expect(!sent.over, 'the learner was counted');
      scene.healAll();
      await scene.whole();
    },
  ),

  scenario('others: a node that was removed campaigns for ever', { nodes: 4 }, async (scene) => {
    await scene.whole();
    const [from] = scene.followers() as [string];
    const to = scene.spare();
    scene.isolate(from);
    await scene.move(from, to);
    const isMember = () => scene.replica(to)?.state.confState.voters.length === 3;
    await scene.until(
      'the new member',
      () => isMember() && scene.replica(to)!.state.confState.votersOutgoing.length === 0,
    );
    const { term } = scene.replica(scene.leader())!;
    await scene.pass(1_000);
    scene.healAll();
    await scene.until('the end of the removed one', () => scene.replica(from) === undefined);
    await scene.pass(1_000);
    const now = scene.replica(scene.leader())!.term;
    scene.expect(now === term, `it was term ${term}, and is ${now}`);
  }),
];
