/**
 * What clients keep of what they read (CLIENT TRACKING), while whoever could tell them that it is over dies,
 * is cut off, or goes: each is told within the time that docs/caching.md promises.
 */
import type { GroupId } from '../../../src/common/ids.ts';
import { textOf } from '../call.ts';
import { GATEWAY_PORT } from '../cluster.ts';
import { PushClient } from '../push-client.ts';
import { type Scenario, scenario } from './scenario.ts';
import type { Scene } from './scene.ts';

/** As promised, and what the network adds. */
const TOLD_MS = 6_050;
const OTHER = { name: 'db1', partitions: 2, replicas: 3, hash: 'slots' } as const;

const modes = [[], ['BCAST'], ['NOLOOP'], ['OPTIN']] as const;

/** Keeps what it reads until it is told. */
class Keeper {
  readonly #scene: Scene;
  readonly #client: PushClient;
  readonly #optsIn: boolean;
  readonly cache: Map<string, string>;

  private constructor(
    scene: Scene,
    client: PushClient,
    cache: Map<string, string>,
    optsIn: boolean,
  ) {
    this.#scene = scene;
    this.#client = client;
    this.cache = cache;
    this.#optsIn = optsIn;
  }

  static async open(scene: Scene, node: string, ...mode: readonly string[]): Promise<Keeper> {
    const { network, clock } = scene.cluster;
    const cache = new Map<string, string>();
    const from = network.node(`keeper ${mode.join()} of ${node}`);
    const opening = PushClient.open(
      from,
      clock,
      { host: node, port: GATEWAY_PORT },
      {
        onPush: ([, keys]) => {
          if (keys?.kind === 'null') cache.clear();
          else if (keys?.kind === 'array') for (const key of keys.items) cache.delete(textOf(key));
        },
        onEnd: () => cache.clear(),
      },
    );
    const client = (await scene.settled(opening))!;
    const keeper = new Keeper(scene, client, cache, mode.includes('OPTIN'));
    const replies = await keeper.ask(['HELLO', '3'], ['CLIENT', 'TRACKING', 'ON', ...mode]);
    scene.expect(replies[1] === 'OK', `it is told ${replies}`);
    return keeper;
  }

  async ask(...lines: readonly (readonly string[])[]): Promise<string[]> {
    const replies = await this.#scene.settled(this.#client.send(lines, 5_000));
    return replies.map(textOf);
  }

  async read(...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const first = this.#optsIn ? [['CLIENT', 'CACHING', 'YES']] : [];
      const sent = this.#client.send([...first, ['GET', key]], 5_000, (reply, at) => {
        if (at === first.length && reply.kind !== 'error') this.cache.set(key, textOf(reply));
      });
      await this.#scene.settled(sent);
    }
  }
}

/** One in each form, at each of the nodes. */
async function keepers(scene: Scene, nodes: readonly string[]): Promise<Keeper[]> {
  const all: Keeper[] = [];
  for (const node of nodes) {
    for (const mode of modes) all.push(await Keeper.open(scene, node, ...mode));
  }
  return all;
}

function have(all: readonly Keeper[], value: string): number {
  return all.filter(({ cache }) => [...cache.values()].includes(value)).length;
}

async function expectForgotten(scene: Scene, all: readonly Keeper[], old: string): Promise<void> {
  await scene.pass(TOLD_MS);
  const late = have(all, old);
  scene.expect(late === 0, `${late} of ${all.length} keep ${old} for too long`);
}

export const caching: readonly Scenario[] = [
  scenario('caching: a leader dies with what it has told nobody', {}, async (scene) => {
    await scene.whole();
    const leader = scene.leader();
    const [gateway] = scene.followers() as [string, string];
    await scene.must(leader, 'SET', 'k', 'old');
    const all = await keepers(scene, [gateway]);
    for (const one of all) await one.read('k');
    scene.expect(have(all, 'old') === all.length, 'they have what they read');
    // committed with the third, and acknowledged
    scene.cluster.network.cut(leader, gateway);
    await scene.must(leader, 'SET', 'k', 'new');
    scene.expect(have(all, 'old') === all.length, 'nobody could tell them yet');
    scene.cluster.crash(leader, 'power');
    scene.healAll();
    await scene.leaderAmong(...scene.names.filter((name) => name !== leader));
    await expectForgotten(scene, all, 'old');
    for (const one of all) await one.read('k');
    scene.expect(have(all, 'new') === all.length, 'they read what is there');
    scene.cluster.start(leader);
    await scene.whole();
  }),

  scenario('caching: a leader and its clients are cut off', {}, async (scene) => {
    await scene.whole();
    const leader = scene.leader();
    await scene.must(leader, 'SET', 'k', 'old');
    const all = await keepers(scene, [leader]);
    for (const one of all) await one.read('k');
    scene.isolate(leader);
    const heir = await scene.leaderAmong(...scene.names.filter((name) => name !== leader));
    await scene.must(heir, 'SET', 'k', 'new');
    scene.expect(have(all, 'old') === all.length, 'nobody could tell them yet');
    await expectForgotten(scene, all, 'old');
    scene.healAll();
    await scene.whole();
  }),

  scenario('caching: a gateway hears nothing of a leader that others hear', {}, async (scene) => {
    await scene.whole();
    const leader = scene.leader();
    const [gateway, other] = scene.followers() as [string, string];
    await scene.must(leader, 'SET', 'k', 'old');
    const all = await keepers(scene, [gateway]);
    for (const one of all) await one.read('k');
    scene.split([gateway], [leader, other]);
    await scene.must(leader, 'SET', 'k', 'new');
    await expectForgotten(scene, all, 'old');
    scene.healAll();
    await scene.whole();
  }),

  scenario('caching: a leader stands still while another leads', {}, async (scene) => {
    await scene.whole();
    const leader = scene.leader();
    const rest = scene.names.filter((name) => name !== leader);
    await scene.must(leader, 'SET', 'k', 'old');
    const [its, others] = [await keepers(scene, [leader]), await keepers(scene, rest)];
    for (const one of [...its, ...others]) await one.read('k');
    scene.cluster.pause(leader);
    const heir = await scene.leaderAmong(...rest);
    await scene.must(heir, 'SET', 'k', 'new');
    await expectForgotten(scene, others, 'old');
    scene.expect(have(its, 'old') === its.length, 'whoever stands still tells nobody');
    scene.cluster.resume(leader);
    await scene.pass(700);
    scene.expect(have(its, 'old') === 0, 'its clients keep what it could not tell them');
    await scene.whole();
  }),

  scenario('caching: the replica of a node moves away', { nodes: 4 }, async (scene) => {
    await scene.whole();
    const [leader, spare] = [scene.leader(), scene.spare()];
    await scene.must(leader, 'SET', 'k', 'old');
    const all = await keepers(scene, scene.names);
    for (const one of all) await one.read('k');
    await scene.move(leader, spare);
    await scene.until('another leads', () => scene.replica(leader) === undefined);
    await scene.must(spare, 'SET', 'k', 'new');
    await expectForgotten(scene, all, 'old');
    for (const one of all) await one.read('k');
    await scene.must(leader, 'SET', 'k', 'newest');
    await expectForgotten(scene, all, 'new');
  }),

  scenario('caching: a namespace is deleted and made anew', {}, async (scene) => {
    await scene.whole();
    await scene.operate((operator) => operator.createNamespace(OTHER));
    await scene.whole();
    const all = await keepers(scene, scene.names);
    for (const one of all) await one.ask(['SELECT', '1']);
    const keys = ['a', 'b', 'c'];
    const [first] = all as [Keeper];
    const write = async (value: string) => {
      for (let left = 100; left > 0; left--) {
        if ((await first.ask(...keys.map((key) => ['SET', key, value]))).every(isOk)) return;
        await scene.pass(50);
      }
      scene.expect(false, `nobody could write ${value}`);
    };
    await write('old');
    await scene.pass(500);
    for (const one of all) await one.read(...keys);
    scene.expect(have(all, 'old') === all.length, 'they have what they read');
    for (const group of groupsOf(scene)) scene.cluster.deletedGroups.add(group);
    await scene.operate((operator) => operator.deleteNamespace(OTHER.name));
    await scene.operate((operator) => operator.createNamespace(OTHER));
    await write('new');
    await expectForgotten(scene, all, 'old');
    for (const one of all) await one.read(...keys);
    await write('newest');
    await expectForgotten(scene, all, 'new');
    await scene.whole();
  }),
];

function isOk(reply: string): boolean {
  return reply === 'OK';
}

function groupsOf({ cluster }: Scene): GroupId[] {
  const all = cluster.machines.flatMap(({ life }) => life?.datanode?.replicas() ?? []);
  return all
    .filter(({ namespace }) => namespace === OTHER.name)
    .map(({ record: { group } }) => group);
}
