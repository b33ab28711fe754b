/** Scripted: two of three nodes are lost, the partition is rebuilt from the third, and they return. */
import { expect, test } from 'vitest';
import { SimClient } from './client.ts';
import { GATEWAY_PORT, SimCluster } from './cluster.ts';
import { Judge } from './judge.ts';
import { drawPlan, type RunPlan } from './plan.ts';
import { isWhole } from './whole.ts';

const WITHIN_MS = 60_000;
const NAME = { namespace: 'default', partition: 0 };
const CONFIRMED = 'lose-data-of default/0';

const plan: RunPlan = {
  ...drawPlan('lost quorum'),
  ...{
    nodes: 3,
    partitions: 1,
    replicas: 3,
    clients: 0,
    faults: [],
    absence: undefined,
    turnMs: 0,
  },
  ...{ tickMs: 70, electionTicks: 10, sleepAfterTicks: 0, diskLatencyMs: 0.5 },
  ...{ latencyMinMs: 1, latencyMaxMs: 6, bytesPerMs: 2_000, drift: 0, skewMs: 0 },
  ...{ splitChance: 0, mergeChance: 0.5, engineStalls: { share: 0.3, ms: 20 } },
};

class Scene {
  readonly cluster: SimCluster;
  readonly judge: Judge;
  /** Once the partition is wanted in another group, nobody leads the former one. */
  formerLed = 0;
  #asked = 0;

  constructor(seed: string) {
    this.cluster = new SimCluster({ ...plan, seed });
    this.judge = new Judge(this.cluster);
  }

  until(condition: () => boolean, withinMs = WITHIN_MS): Promise<boolean> {
    if (condition()) return Promise.resolve(true);
    const isOver = () => {
      this.judge.check();
      this.#watchFormer();
      return condition();
    };
    return this.cluster.scheduler.runUntil(isOver, withinMs);
  }

  #watchFormer(): void {
    const former = this.cluster.records().flatMap(({ rebuilt }) => rebuilt?.formerGroups ?? []);
    if (former.length === 0) return;
    for (const { group, replica } of this.judge.observed()) {
      if (former.includes(group) && replica.isLeader) this.formerLed++;
    }
  }

  pass(ms: number): Promise<boolean> {
    return this.until(() => false, ms);
  }

  async settled<T>(work: Promise<T>): Promise<T> {
    let done = false;
    const end = () => {
      done = true;
    };
    work.then(end, end);
    await this.until(() => done);
    return work;
  }

  /** The reply's text, through one node; undefined when there was none, an error or a silence. */
  async ask(node: string, timeoutMs: number, ...words: string[]): Promise<string | undefined> {
    const { network, clock } = this.cluster;
    const client = new SimClient(network.node(`client ${this.#asked++}`), clock);
    const to = { host: node, port: GATEWAY_PORT };
    const reply = await this.settled(client.call(to, words, timeoutMs));
    if (reply?.kind === 'simple') return reply.text;
    return reply?.kind === 'bulk' ? reply.bytes.toString() : undefined;
  }

  /** The replica that runs on a node. */
  replica(node: string) {
    return this.cluster.machine(node).life?.datanode?.replicas()[0];
  }

  /** Twenty writes that all have, then `n2` and `n3` are gone with their disks intact. */
  async loseTwo(): Promise<void> {
    const { cluster } = this;
    expect(await this.until(() => isWhole(cluster))).toBe(true);
    for (let at = 0; at < 20; at++)
      expect(await this.ask('n1', 5_000, 'SET', `k${at}`, 'old')).toBe('OK');
    const level = () => {
      const [first, ...rest] = ['n1', 'n2', 'n3'].map((node) => this.replica(node)?.appliedIndex);
      return first !== undefined && rest.every((index) => index === first);
    };
    expect(await this.until(level)).toBe(true);
    for (const node of ['n2', 'n3']) cluster.crash(node, 'power');
    // their leases run out
    await this.pass(5_000);
  }

  async rebuild(): Promise<void> {
    expect(await this.until(() => this.cluster.operator !== undefined)).toBe(true);
    await this.settled(this.cluster.operator!.rebuild(NAME, 'n1', CONFIRMED));
  }

  /** The rebuilt group serves what `n1` had. */
  async serves(): Promise<void> {
    const led = () => this.replica('n1')?.isLeader === true;
    expect(await this.until(led)).toBe(true);
    for (let at = 0; at < 20; at++)
      expect(await this.ask('n1', 5_000, 'GET', `k${at}`)).toBe('old');
    expect(await this.ask('n1', 5_000, 'SET', 'k0', 'new')).toBe('OK');
  }

  /** The lost ones are back as new replicas, and know what was written without them. */
  async whole(): Promise<void> {
    const { cluster } = this;
    const filled = () => cluster.records()[0]?.replicas.length === 3 && isWhole(cluster);
    expect(await this.until(filled)).toBe(true);
    for (const node of ['n1', 'n2', 'n3']) {
      expect(await this.ask(node, 5_000, 'GET', 'k0')).toBe('new');
      expect(await this.ask(node, 5_000, 'GET', 'k19')).toBe('old');
    }
    for (const id of cluster.records()[0]!.rebuilt!.lost.map(({ replica }) => replica)) {
      expect(cluster.durable.replicas.get(id)?.tombstone).toBe(true);
    }
    expect(this.formerLed).toBe(0);
    expect(cluster.broken).toEqual([]);
  }
}

test('the lost two come back while nobody can tell them, and serve nothing', async () => {
  const scene = new Scene('lost 1');
  const { cluster } = scene;
  await scene.loseTwo();
  await scene.rebuild();
  await scene.serves();
  cluster.crash('n1', 'process');
  cluster.meta.available = false;
  for (const node of ['n2', 'n3']) cluster.start(node);
  await scene.pass(10_000);
  for (const node of ['n2', 'n3']) {
    expect(scene.replica(node)?.isLeader).toBe(false);
    expect(await scene.ask(node, 3_000, 'GET', 'k0')).toBe(undefined);
  }
  // the survivor's node can tell, the store still cannot
  cluster.start('n1');
  const refused = () => ['n2', 'n3'].every((node) => scene.replica(node) === undefined);
  expect(await scene.until(refused)).toBe(true);
  expect(await scene.ask('n1', 5_000, 'GET', 'k0')).toBe('new');
  cluster.meta.available = true;
  await scene.whole();
});

test('the lost two come back with the store in reach, and are filled anew', async () => {
  const scene = new Scene('lost 2');
  await scene.loseTwo();
  await scene.rebuild();
  for (const node of ['n2', 'n3']) scene.cluster.start(node);
  await scene.serves();
  await scene.whole();
});

test('all three start again with the store away: they ask each other, and serve soon', async () => {
  const scene = new Scene('all back');
  const { cluster } = scene;
  expect(await scene.until(() => isWhole(cluster))).toBe(true);
  expect(await scene.ask('n1', 5_000, 'SET', 'k0', 'old')).toBe('OK');
  await scene.pass(1_000);
  for (const node of ['n1', 'n2', 'n3']) cluster.crash(node, 'process');
  cluster.meta.available = false;
  for (const node of ['n1', 'n2', 'n3']) cluster.start(node);
  const led = () => ['n1', 'n2', 'n3'].some((node) => scene.replica(node)?.isLeader === true);
  expect(await scene.until(led, 3_000)).toBe(true);
  expect(await scene.ask('n2', 5_000, 'GET', 'k0')).toBe('old');
  cluster.meta.available = true;
  expect(await scene.until(() => isWhole(cluster))).toBe(true);
});

test.each([0, 1, 2, 3, 4, 6, 8, 11, 15, 25, 60, 200])(
  'the survivor loses power %i ms after the rebuild, the master with it',
  async (afterMs) => {
    const scene = new Scene(`lost at ${afterMs}`);
    const { cluster } = scene;
    await scene.loseTwo();
    expect(await scene.until(() => cluster.operator !== undefined)).toBe(true);
    // the master may die before it hears what became of its write
    const asked = cluster.operator!.rebuild(NAME, 'n1', CONFIRMED);
    asked.catch(() => {});
    await scene.pass(2 + afterMs / 2);
    cluster.crashDriver();
    await scene.pass(afterMs / 2);
    cluster.crash('n1', 'power');
    cluster.startDriver();
    await scene.pass(300);
    cluster.start('n1');
    expect(await scene.until(() => scene.replica('n1') !== undefined)).toBe(true);
    const again = () => scene.rebuild().catch((error) => expect(error.code).toBe('CONFLICT'));
    await again();
    await scene.serves();
    for (const node of ['n2', 'n3']) cluster.start(node);
    await scene.whole();
  },
  120_000,
);
