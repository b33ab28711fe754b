/** What nearly everybody gets wrong once: retries, snapshots that chase compaction, full disks. */
import { KvorumError } from '../../../src/common/errors.ts';
import { keys, type LeaderRecord } from '../../../src/meta/schema.ts';
import { textOf } from '../call.ts';
import { type Scenario, scenario } from './scenario.ts';
import type { Sent } from './scene.ts';

export const others: readonly Scenario[] = [
  scenario(
    'others: INCR and RPUSH are done twice after a timeout',
    {
      sdk: [
        {
          kind: 'sessions',
          patient: true,
          loops: 2,
          timeoutMs: 15_000,
          attemptTimeoutMs: 200,
          lookupMs: 300,
          maxInFlight: 4,
          maxQueued: 1_000,
        },
      ],
    },
    async (scene) => {
      await scene.whole();
      for (let round = 0; round < 3; round++) {
        await scene.pass(250);
        const leader = scene.leads();
        if (leader === undefined) continue;
        // what was sent is carried out, and the answer does not come in time
        scene.cluster.network.cut(leader, 'sdk0');
        await scene.pass(250);
        scene.cluster.network.reset('sdk0', leader);
        scene.healAll();
        if (round === 1) scene.restart(leader, 'process');
      }
      await scene.pass(300);
    },
  ),

  scenario(
    'others: a snapshot and compaction chase each other for ever',
    {
      logKeepEntries: 3,
      logKeepBytes: 200,
      logHeldBytes: 2_000,
      bytesPerMs: 100,
      clients: 3,
      thinkMs: 2,
    },
    async (scene) => {
      await scene.whole();
      await scene.fill(scene.leader(), 12, 'x'.repeat(1_500), 2);
      const [away] = scene.followers() as [string];
      scene.wipe(away);
      await scene.pass(500);
      scene.cluster.start(away);
      // nobody stops writing
      await scene.whole();
    },
  ),

  scenario(
    'others: keys come while a node looks through those that it holds',
    // more than are looked for when the log is carried out again
    { diskLatencyMs: 1, keyFilterMisses: 40 },
    async (scene) => {
      await scene.whole();
      // so many that a node looks through them while many come
      for (let part = 0; part < 8; part++) {
        const pairs = Array.from({ length: 1_000 }, (_, at) => [`k${part * 1_000 + at}`, 'v']);
        await scene.answer(scene.client(scene.leader()).tell('MSET', ...pairs.flat()));
      }
      for (let round = 0; round < 4; round++) {
        scene.restartAll('process');
        const leader = await scene.leaderAmong(...scene.names);
        // each key is looked for before it comes, by every replica that carries the write out, and
        // what comes is nothing that is remembered in another place
        const sent: Sent[] = [];
        for (let at = 0; at < 80; at++) {
          sent.push(scene.send(leader, 'APPEND', `c${round}-${at}`, 'v'));
          await scene.pass(1);
        }
        await scene.until('answers', () => sent.every(({ over }) => over));
        for (let at = 0; at < 80; at++) {
          const length = await scene.must(leader, 'APPEND', `c${round}-${at}`, 'v');
          scene.expect(length === '2', `APPEND answers ${length} for the second time`);
        }
      }
      await scene.whole();
    },
  ),

  scenario(
    'others: large entries are sent again and again over a slow link',
    { bytesPerMs: 100 },
    async (scene) => {
      await scene.whole();
      const leader = scene.leader();
      // each takes a link two seconds; many heartbeats and small entries pass it meanwhile
      const large = 'x'.repeat(200_000);
      const began = scene.cluster.clock.monotonicMs();
      for (let round = 0; round < 3; round++) {
        const sent = scene.client(leader, 30_000).send('SET', 'large', `${large}${round}`);
        await scene.pass(2_020);
        const small = scene.send(leader, 'SET', 'small', String(round));
        await scene.until('both are written', () => sent.over && small.over, 30_000);
        scene.expect(textOf(await sent.reply) === 'OK', 'the large one is written');
      }
      const tookMs = scene.cluster.clock.monotonicMs() - began;
      scene.expect(tookMs < 16_000, `three entries of two seconds took ${tookMs} ms`);
    },
  ),

  scenario('others: a leader whose large entries reach nobody leads on', {}, async (scene) => {
    await scene.whole();
    const [leader, followers] = [scene.leader(), scene.followers()];
    for (const name of followers) scene.cluster.network.narrow(leader, name, 60_000);
    // small ones still come through
    await scene.must(leader, 'SET', 'small', '1');
    const sent = scene.client(leader, 60_000).send('SET', 'large', 'x'.repeat(100_000));
    const next = await scene.leaderAmong(...followers);
    // nor does it lead again, though the table prefers it and it has caught up
    for (let round = 0; round < 8; round++) {
      await scene.must(next, 'SET', 'other', 'x'.repeat(100_000 + round));
      await scene.pass(1_000);
      scene.expect(scene.leads() !== leader, 'another leads');
    }
    scene.healAll();
    await scene.until('an answer', () => sent.over);
    await scene.must(await scene.leaderAmong(...scene.names), 'SET', 'large', 'x'.repeat(100_001));
    await scene.whole();
  }),

  scenario('others: a leader that is left alone says that it leads no more', {}, async (scene) => {
    await scene.whole();
    const [leader, followers] = [scene.leader(), scene.followers()];
    const { items } = scene.cluster.meta;
    const told = () => JSON.parse(items.get(keys.leader('default', 0))!.value) as LeaderRecord;
    const before = told();
    scene.expect(before.node === leader && !before.resigned, 'its leader is told');
    for (const name of followers) scene.cluster.crash(name, 'process');
    await scene.until('a report that nobody leads', () => told().resigned === true);
    scene.expect(told().term === before.term, 'in the term that it led');
    for (const name of followers) scene.cluster.start(name);
    await scene.whole();
    await scene.until('a report of the next leader', () => !told().resigned);
    scene.expect(told().term > before.term, 'in a later term');
  }),

  scenario(
    'others: the only replica fails and its node is still shown as leading',
    { replicas: 1 },
    async (scene) => {
      await scene.whole();
      const leader = scene.leader();
      const { items } = scene.cluster.meta;
      const told = () => JSON.parse(items.get(keys.leader('default', 0))!.value) as LeaderRecord;
      const before = told();
      scene.expect(before.node === leader && !before.resigned, 'its leader is told');
      const waits = (name: string) =>
        scene.cluster.machine(name).life?.datanode?.readiness().ready === false;
      scene.replica(leader)!.fail(new KvorumError('TOO_NEW', 'the scenario ends it'));
      await scene.until('a report that nobody leads', () => told().resigned === true);
      scene.expect(told().term === before.term, 'in the term that it led');
      // those without a replica hear of it from the store
      await scene.until('every node knows that nobody leads', () => scene.names.every(waits));
      scene.restart(leader, 'process');
      await scene.whole();
      await scene.until('a report of the next leader', () => !told().resigned);
      await scene.until('nodes that know it', () => !scene.names.some(waits));
    },
  ),

  scenario(
    'others: the replica of a leader fails while its followers are away',
    {},
    async (scene) => {
      await scene.whole();
      const [leader, followers] = [scene.leader(), scene.followers()];
      const { items } = scene.cluster.meta;
      const told = () => JSON.parse(items.get(keys.leader('default', 0))!.value) as LeaderRecord;
      const { term } = told();
      for (const name of followers) scene.cluster.crash(name, 'process');
      scene.replica(leader)!.fail(new KvorumError('TOO_NEW', 'the scenario ends it'));
      await scene.until('a report that nobody leads', () => told().resigned === true);
      // two of three are a quorum without it
      for (const name of followers) scene.cluster.start(name);
      await scene.leaderAmong(...followers);
      await scene.until('a report of the next leader', () => !told().resigned);
      scene.expect(told().term > term, 'in a later term');
      scene.restart(leader, 'process');
      await scene.whole();
    },
  ),

  scenario('others: one full disk', { clients: 2 }, async (scene) => {
    await scene.whole();
    const full = scene.leader();
    scene.fillDisk(full, 2_048);
    const heir = await scene.leaderAmong(...scene.names.filter((name) => name !== full));
    for (let at = 0; at < 5; at++) await scene.must(heir, 'SET', 'r0', `without ${full} ${at}`);
    scene.freeDisk(full);
    await scene.whole();
  }),

  scenario('others: full disks kill the quorum at once', {}, async (scene) => {
    await scene.whole();
    for (const name of scene.names) scene.fillDisk(name, 3_000);
    const sent = Array.from({ length: 8 }, (_, at) =>
      scene.send('n1', 'SET', `r${at}`, 'x'.repeat(1_000)),
    );
    await scene.until('answers', () => sent.every(({ over }) => over));
    await scene.pass(1_000);
    for (const name of scene.names) scene.freeDisk(name);
    await scene.whole();
    for (const name of scene.names) await scene.must(name, 'SET', 'r0', `from ${name}`);
  }),

  scenario('others: an older copy of a data directory is put back', {}, async (scene) => {
    const { cluster } = scene;
    await scene.whole();
    const leader = scene.leader();
    const [back, behind] = scene.followers() as [string, string];
    await scene.must(leader, 'SET', 'k', 'old');
    await scene.level();
    const copy = scene.copy(back);
    await scene.whole();
    // the other two have it
    const writer = await scene.leaderAmong(leader);
    scene.isolate(behind);
    await scene.must(writer, 'SET', 'k', 'new');
    cluster.crash(leader, 'power');
    scene.putBack(back, copy);
    scene.healAll();
    cluster.start(back);
    await scene.pass(4_000);
    scene.expect(scene.leads() === undefined, 'who has forgotten what it acknowledged has voted');
    cluster.start(leader);
    await scene.leaderAmong(leader);
    scene.expect((await scene.must(behind, 'GET', 'k')) === 'new', 'a write is lost');
    // as the refusal asks for
    scene.wipe(back);
    cluster.start(back);
    await scene.whole();
  }),
];
