/** What operators do to a cluster that serves, while things break: restarts one by one, namespaces deleted. */
import { codeOf } from '../../../src/common/errors.ts';
import type { Replica } from '../../../src/datanode/partition/replica/replica.ts';
import { keys, type LeaderRecord } from '../../../src/meta/schema.ts';
import type { NamespaceSpec } from '../../../src/placedriver/operator/operator.ts';
import { textOf } from '../call.ts';
import { SimClient } from '../client.ts';
import { GATEWAY_PORT } from '../cluster.ts';
import { type Scenario, scenario } from './scenario.ts';
import { FIRST, type Scene } from './scene.ts';

/** As the second namespace: `SELECT 1`. */
const OTHER: NamespaceSpec = { name: 'db1', partitions: 2, replicas: 3, hash: 'slots' };
const DELETED_WITHIN_MS = 60_000;
const SERVED_WITHIN_MS = 20_000;
/** By then the store knows that nodes are gone. */
const LOST_AFTER_MS = 4_000;
const CONFIRMED = 'lose-data-of default/0';

function replicasOf(scene: Scene, namespace: string): readonly Replica[] {
  const { machines } = scene.cluster;
  const all = machines.flatMap(({ life }) => life?.datanode?.replicas() ?? []);
  return all.filter((replica) => replica.namespace === namespace && !replica.stopped);
}

/** What nodes hold of replicas on their disks. */
function enginesOf(scene: Scene, ids: ReadonlySet<number>): string[] {
  return scene.cluster.machines.flatMap(({ name, disk }) => {
    const found = disk.files().flatMap(({ path }) => {
      const [, id] = /^\/data\/engines\/(\d+)-/.exec(path) ?? [];
      return id !== undefined && ids.has(Number(id)) ? [`${name}${path}`] : [];
    });
    return [...new Set(found)];
  });
}

/** In the other namespace: asked until it serves. */
async function askOther(scene: Scene, node: string, ...words: string[]): Promise<string> {
  const { network, clock } = scene.cluster;
  const client = new SimClient(network.node(`client of ${OTHER.name} ${words.join(' ')}`), clock);
  const to = { host: node, port: GATEWAY_PORT };
  const untilMs = clock.monotonicMs() + SERVED_WITHIN_MS;
  for (;;) {
    const selected = await scene.settled(client.call(to, ['SELECT', '1']));
    const reply =
      selected?.kind === 'simple' ? await scene.settled(client.callOn(words, 3_000)) : selected;
    if (reply !== undefined && reply.kind !== 'error') return textOf(reply);
    scene.expect(clock.monotonicMs() < untilMs, `${node} answers ${textOf(reply)} to ${words}`);
    client.disconnect();
    await scene.pass(50);
  }
}

/** Asked again while nobody is the master: it may have been carried out before. */
async function deleteOther(scene: Scene): Promise<void> {
  try {
    await scene.operate((operator) => operator.deleteNamespace(OTHER.name));
  } catch (error) {
    if (codeOf(error) !== 'NOT_FOUND') throw error;
  }
}

/** The leader has told that it has another voter beside it, and that a quorum may not know that yet. */
function growsToTwo({ cluster }: Scene): boolean {
  const item = cluster.meta.items.get(keys.leader(FIRST.namespace, FIRST.partition));
  if (item === undefined) return false;
  const { membership } = JSON.parse(item.value) as LeaderRecord;
  return membership.voters.length === 2 && membership.joint;
}

/**
 * The leader is all that is left: what it acknowledged is in its log, so nothing that clients know is
 * given up. What became of what was under way nobody can tell any more.
 */
async function rebuildFromLeader(scene: Scene): Promise<{ survivor: string; lost: string[] }> {
  scene.cluster.outcomesMayEnd = true;
  const survivor = await scene.leaderAmong(...scene.names);
  const lost = scene.names.filter((name) => name !== survivor);
  for (const name of lost) scene.cluster.crash(name, 'power');
  await scene.pass(LOST_AFTER_MS);
  await scene.operate((operator) => operator.rebuild(FIRST, survivor, CONFIRMED));
  return { survivor, lost };
}

export const operations: readonly Scenario[] = [
  scenario(
    'operations: nodes are restarted one after the other under load',
    { clients: 4, thinkMs: 5, reads: 'lease' },
    async (scene) => {
      await scene.whole();
      for (const name of scene.names) {
        await scene.settled(scene.cluster.stop(name));
        await scene.leaderAmong(...scene.names.filter((other) => other !== name));
        scene.cluster.start(name);
        await scene.whole();
      }
    },
  ),

  scenario(
    'operations: leaders die, stand still and are cut off while all nodes are restarted',
    { nodes: 5, replicas: 5, clients: 3, thinkMs: 5 },
    async (scene) => {
      await scene.whole();
      for (const [at, name] of scene.names.entries()) {
        await scene.settled(scene.cluster.stop(name));
        const rest = scene.names.filter((other) => other !== name);
        const leader = await scene.leaderAmong(...rest);
        const restarts = at % 3 === 0;
        if (restarts) scene.restart(leader, 'power');
        else if (at % 3 === 1) scene.isolate(leader);
        else scene.cluster.pause(leader);
        // one that is back at once may be the first to stand
        await scene.leaderAmong(...rest.filter((other) => restarts || other !== leader));
        scene.cluster.start(name);
        await scene.pass(200);
        scene.healAll();
        scene.cluster.resume(leader);
        await scene.whole();
      }
    },
  ),

  scenario(
    'operations: nodes and the master die while a namespace is deleted',
    { clients: 2, thinkMs: 10 },
    async (scene) => {
      await scene.whole();
      const [away, cut, last] = scene.names as [string, string, string];
      await scene.operate((operator) => operator.createNamespace(OTHER));
      for (const name of scene.names) await askOther(scene, name, 'SET', `of ${name}`, 'old');
      await scene.whole();
      const replicas = replicasOf(scene, OTHER.name);
      const former = new Set(replicas.map(({ id }) => id));
      scene.expect(former.size === 6, `${former.size} replicas of ${OTHER.name}`);
      for (const { record } of replicas) scene.cluster.deletedGroups.add(record.group);

      scene.cluster.crash(away, 'power');
      scene.cluster.note(`cut ${cut} off`);
      scene.isolate(cut);
      scene.cluster.operator?.deleteNamespace(OTHER.name).catch(() => {});
      await scene.pass(2);
      scene.cluster.note('the master dies');
      scene.cluster.crashDriver();
      await scene.pass(300);
      scene.cluster.startDriver();
      await deleteOther(scene);
      scene.restart(last, 'power');
      await scene.pass(500);
      scene.healAll();
      scene.cluster.start(away);
      const isGone = () => enginesOf(scene, former).length === 0;
      await scene.until('its data destroyed on every disk', isGone, DELETED_WITHIN_MS);
      scene.expect(replicasOf(scene, OTHER.name).length === 0, 'replicas of it run');

      // the name is free again, and nothing of what was comes back
      await scene.operate((operator) => operator.createNamespace({ ...OTHER, partitions: 1 }));
      for (const name of scene.names) {
        const reply = await askOther(scene, name, 'GET', `of ${name}`);
        scene.expect(reply === 'null', `GET of ${name} is ${reply} in the new namespace`);
      }
      await scene.whole();
    },
  ),

  scenario(
    'operations: a partition is rebuilt from its leader under load, again and again',
    { clients: 4, thinkMs: 5, topic: 'mixed' },
    async (scene) => {
      await scene.whole();
      for (const returnMs of [0, 300, 900]) {
        const { survivor, lost } = await rebuildFromLeader(scene);
        await scene.pass(returnMs);
        for (const name of lost) scene.cluster.start(name);
        await scene.until('led again', () => scene.leads() === survivor);
        // the others are lost again when the second voter is not one for good
        await scene.until('two voters', () => growsToTwo(scene));
      }
    },
  ),

  scenario(
    'operations: the lost ones return while nobody can tell them of the rebuild',
    { clients: 4, thinkMs: 5, topic: 'mixed' },
    async (scene) => {
      const { cluster } = scene;
      await scene.whole();
      await scene.pass(500);
      const { survivor, lost } = await rebuildFromLeader(scene);
      await scene.until('led again', () => scene.leads() === survivor);
      await scene.must(survivor, 'SET', 'r9', 'after the rebuild');
      cluster.meta.available = false;
      cluster.crash(survivor, 'power');
      for (const name of lost) cluster.start(name);
      // they are a quorum of what was given up, and clients ask them all the time
      await scene.pass(5_000);
      scene.expect(scene.leads() === undefined, 'replicas of the former group lead');
      cluster.start(survivor);
      await scene.until('led again', () => scene.leads() === survivor);
      cluster.meta.available = true;
      await scene.whole();
      const found = await scene.must(survivor, 'GET', 'r9');
      scene.expect(found === 'after the rebuild', `what was written then is ${found}`);
    },
  ),
];
