/** What Jepsen found in Redis-Raft: logs, failovers and replies. */
import { type Scenario, scenario } from './scenario.ts';
import { FIRST } from './scene.ts';

const shortLog = { logKeepEntries: 3, logKeepBytes: 200, logHeldBytes: 2_000 };

export const redisRaft: readonly Scenario[] = [
  scenario(
    'redis-raft #13: a forwarded command enters the log again and again',
    {},
    async (scene) => {
      await scene.whole();
      const leader = scene.leader();
      const began = scene.replica(leader)!.inspect().log.lastIndex();
      const sent = scene.names.flatMap((name) =>
        ['n0', 'n1', 'n0'].map((key) => scene.send(name, 'INCR', key)),
      );
      // whoever forwards believes for a while that the former one leads
      await scene.pass(2);
      scene.isolate(leader);
      await scene.leaderAmong(...scene.names.filter((name) => name !== leader));
      scene.healAll();
      await scene.until('answers', () => sent.every(({ over }) => over));
      await scene.pass(1_000);
      const grown = scene.replica(scene.leader())!.inspect().log.lastIndex() - began;
      scene.expect(grown <= sent.length + 10, `${sent.length} commands became ${grown} entries`);
    },
  ),

  scenario('redis-raft #14: all data is lost on failover', {}, async (scene) => {
    await scene.whole();
    const leader = scene.leader();
    await scene.fill(scene.followers()[0]!, 12, 'v');
    scene.cluster.crash(leader, 'power');
    const heir = await scene.leaderAmong(...scene.names.filter((name) => name !== leader));
    for (const at of [0, 5, 11]) {
      const got = await scene.must(heir, 'GET', `k${at}`);
      scene.expect(got === `v${at}`, `k${at} is ${got} after the failover`);
    }
  }),

  scenario(
    'redis-raft #18 #19: reads are stale after a restart, without an entry of the term',
    {},
    async (scene) => {
      await scene.whole();
      await scene.must(scene.leader(), 'SET', 'r0', 'old');
      await scene.level();
      const leader = scene.leader();
      const [witness, other] = scene.followers() as [string, string];
      scene.split([other], [leader, witness]);
      await scene.must(leader, 'SET', 'r0', 'new');
      // the witness holds the entry and has not heard that it is committed
      scene.cluster.crash(leader, 'power');
      scene.restart(witness, 'power');
      scene.healAll();
      await scene.until('a leader', () => scene.leads() === witness);
      const got = await scene.must(witness, 'GET', 'r0');
      scene.expect(got === 'new', `r0 is ${got}`);
    },
  ),

  scenario('redis-raft #18: everything is empty after all have restarted', {}, async (scene) => {
    await scene.whole();
    await scene.fill(scene.leader(), 8, 'v');
    scene.restartAll('power');
    const sent = scene.names.map((name) => scene.send(name, 'GET', 'k7'));
    for (const one of sent) {
      const reply = await scene.answer(one);
      const got = reply?.kind === 'bulk' ? reply.bytes.toString() : reply?.kind;
      scene.expect(got === 'v7' || got === 'error' || got === undefined, `k7 is ${got}`);
    }
    await scene.whole();
  }),

  scenario('redis-raft #21: a healthy node goes on saying that nobody leads', {}, async (scene) => {
    await scene.whole();
    for (const name of scene.names) {
      scene.isolate(name);
      await scene.pass(600);
      scene.healAll();
      await scene.leaderAmong(...scene.names);
      await scene.pass(500);
      for (const node of scene.names) await scene.must(node, 'SET', 'r0', `${name} ${node}`);
    }
  }),

  scenario(
    'redis-raft #23: a command that was applied is answered as refused',
    {},
    async (scene) => {
      await scene.whole();
      for (const round of [1, 2]) {
        const leader = scene.leader();
        const [door, other] = scene.followers() as [string, string];
        const began = scene.replica(other)!.inspect().log.lastIndex();
        // a follower gets it, and nobody hears that it has; first it came from the other one's door
        scene.cluster.network.cut(round === 1 ? leader : door, round === 1 ? door : leader);
        scene.cluster.network.cut(other, leader);
        const at = round === 1 ? door : leader;
        const sent = scene.send(at, 'SET', `r${round}`, `applied ${round}`);
        const arrived = () => scene.replica(other)!.inspect().log.lastIndex() > began;
        await scene.until('the entry at a follower', arrived);
        if (round === 1) scene.cluster.crash(leader, 'process');
        else scene.isolate(leader);
        const heir = await scene.leaderAmong(door, other);
        scene.expect((await scene.must(heir, 'GET', `r${round}`)) === `applied ${round}`, 'lost');
        scene.healAll();
        scene.cluster.start(leader);
        await scene.answer(sent);
        await scene.whole();
      }
    },
  ),

  scenario(
    'redis-raft #43: the snapshot’s index does not fit the log’s first',
    { ...shortLog, clients: 2, thinkMs: 5, engineStalls: { share: 0.5, ms: 200 } },
    async (scene) => {
      await scene.whole();
      const [away] = scene.followers() as [string];
      scene.cluster.crash(away, 'power');
      await scene.pass(500);
      scene.cluster.start(away);
      for (const afterMs of [60, 150, 300]) {
        await scene.pass(afterMs);
        scene.restart(away, 'power');
      }
      await scene.pass(200);
      const leader = scene.leads();
      if (leader !== undefined && leader !== away) scene.isolate(leader);
      await scene.pass(600);
      scene.healAll();
      await scene.whole();
    },
  ),

  scenario(
    'redis-raft #51 #189: the log in memory is out of step after a truncation',
    {},
    async (scene) => {
      await scene.whole();
      const former = scene.leader();
      const others = scene.followers();
      scene.isolate(former);
      for (let at = 0; at < 5; at++) scene.send(former, 'SET', `r${at}`, `lost ${at}`);
      const heir = await scene.leaderAmong(...others);
      await scene.fill(heir, 6, 'v', 2);
      scene.healAll();
      await scene.level();
      const third = others.find((name) => name !== heir)!;
      scene.cluster.crash(third, 'process');
      await scene.operate((operator) => operator.transferLeader(FIRST, former));
      await scene.until('the former one to lead', () => scene.leads() === former);
      await scene.fill(former, 6, 'w', 2);
      // it sends what it has in memory
      scene.cluster.start(third);
      await scene.whole();
      await scene.level();
      scene.expect((await scene.must(third, 'GET', 'k5')) === 'w5', 'k5 is not what was written');
    },
  ),

  scenario(
    'redis-raft #52: a committed write is lost, or done twice, after a crash in a partition',
    {},
    async (scene) => {
      await scene.whole();
      let acknowledged = 0;
      for (const how of ['power', 'process'] as const) {
        const leader = scene.leader();
        const [near, far] = scene.followers() as [string, string];
        scene.split([far], [leader, near]);
        for (let at = 0; at < 4; at++) {
          await scene.must(near, 'INCR', 'n0');
          acknowledged++;
        }
        for (const name of [leader, near]) scene.restart(name, how);
        scene.healAll();
        await scene.leaderAmong(...scene.names);
        const got = Number(await scene.must(far, 'GET', 'n0'));
        scene.expect(got === acknowledged, `counted ${acknowledged} times, is ${got}`);
      }
    },
  ),

  scenario('redis-raft #53: entries conflict with one that is committed', {}, async (scene) => {
    await scene.whole();
    const first = scene.leader();
    scene.isolate(first);
    for (let at = 0; at < 4; at++) scene.send(first, 'SET', 'r1', `lost ${at}`);
    const second = await scene.leaderAmong(...scene.names.filter((name) => name !== first));
    await scene.must(second, 'SET', 'r0', 'kept');
    const third = scene.names.find((name) => name !== first && name !== second)!;
    scene.cluster.crash(second, 'power');
    scene.healAll();
    await scene.until('the third to lead', () => scene.leads() === third);
    scene.expect((await scene.must(first, 'GET', 'r0')) === 'kept', 'the committed one is gone');
  }),

  scenario(
    'redis-raft 46a6ad0: term and vote are lost when the log is rewritten',
    { partitions: 2, segmentBytes: 4_096, logKeepEntries: 5, logKeepBytes: 1_000 },
    async (scene) => {
      await scene.whole();
      // one partition is written, the other's records lie in segments that are to go
      for (let at = 0; at < 24; at++)
        await scene.must('n1', 'SET', 'r0', `${at} ${'x'.repeat(1_500)}`);
      const terms = [0, 1].map((partition) => scene.replica('n1', partition)!.term);
      scene.restartAll('power');
      await scene.whole();
      for (const partition of [0, 1]) {
        const { term } = scene.replica('n1', partition)!;
        scene.expect(
          term > terms[partition]!,
          `partition ${partition} was in ${terms[partition]}, is in ${term}`,
        );
      }
    },
  ),
];
