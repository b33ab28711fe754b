/** One smoke run: clients write and read registers while a node crashes, is cut off, comes back. */
import type { Reply } from '../../src/datanode/resp/reply.ts';
import { SimClient } from './client.ts';
import { GATEWAY_PORT, SimCluster } from './cluster.ts';

export interface SmokeResult {
  readonly trace: string;
  readonly events: number;
  readonly acknowledged: number;
  readonly violations: readonly string[];
  readonly report: string;
}

/** Written by one client only, with growing numbers. */
interface Register {
  readonly key: string;
  acked: number;
  sent: number;
}

const CLIENTS = 3;
const KEYS = 4;

export async function runSmoke(seed: string): Promise<SmokeResult> {
  const cluster = new SimCluster({ seed, nodes: 3, partitions: 3 });
  const smoke = new Smoke(cluster);
  await smoke.run();
  return {
    trace: cluster.scheduler.traceHash,
    events: cluster.scheduler.executed,
    acknowledged: smoke.acknowledged,
    violations: smoke.violations,
    report: `seed ${seed}\n${smoke.violations.join('\n')}\n${cluster.lines.join('\n')}`,
  };
}

class Smoke {
  readonly violations: string[] = [];
  acknowledged = 0;
  readonly #cluster: SimCluster;
  readonly #registers: Register[] = [];
  #running = true;

  constructor(cluster: SimCluster) {
    this.#cluster = cluster;
  }

  async run(): Promise<void> {
    const { scheduler, network, random, names } = this.#cluster;
    for (const name of names) this.#cluster.start(name);
    await this.#settle('the cluster starts');
    for (let at = 0; at < CLIENTS; at++) this.#startClient(at);
    await scheduler.run(scheduler.nowMs + 2_000);

    const victim = names[random.below(names.length)]!;
    this.#cluster.crash(victim, random.below(2) === 0 ? 'power' : 'process');
    await scheduler.run(scheduler.nowMs + 3_000);
    this.#cluster.start(victim);
    await this.#settle(`${victim} is back`);

    const alone = names[random.below(names.length)]!;
    this.#cluster.note(`cut off ${alone}`);
    network.partition(
      [alone],
      names.filter((name) => name !== alone),
    );
    await scheduler.run(scheduler.nowMs + 4_000);
    network.healAll();
    this.#cluster.note('healed');
    await this.#settle('the network is whole');

    for (const name of names) this.#cluster.crash(name, 'power');
    await scheduler.run(scheduler.nowMs + 500);
    for (const name of names) this.#cluster.start(name);
    await this.#settle('all are back');
    await scheduler.run(scheduler.nowMs + 2_000);
    this.#running = false;
    await scheduler.run(scheduler.nowMs + 4_000);
    await this.#readEverything();
  }

  async #settle(what: string): Promise<void> {
    const { scheduler } = this.#cluster;
    const done = await scheduler.runUntil(() => this.#cluster.allReady(), 30_000);
    if (!done) this.violations.push(`not within 30 s: ${what}`);
    this.#cluster.note(what);
  }

  #startClient(at: number): void {
    const { network, clock, names } = this.#cluster;
    const client = new SimClient(network.node(`client${at}`), clock);
    const own: Register[] = [];
    for (let key = 0; key < KEYS; key++) own.push({ key: `r:${at}:${key}`, acked: 0, sent: 0 });
    this.#registers.push(...own);
    void this.#drive(client, own, at % names.length);
  }

  async #drive(client: SimClient, own: readonly Register[], first: number): Promise<void> {
    const { names, random, clock } = this.#cluster;
    const draw = random.fork(`client ${first}`);
    let door = first;
    while (this.#running) {
      const register = own[draw.below(own.length)]!;
      const to = { host: names[door]!, port: GATEWAY_PORT };
      const answered =
        draw.below(2) === 0
          ? await this.#write(client, to, register)
          : await this.#read(client, to, register);
      if (!answered) {
        door = (door + 1) % names.length;
        client.disconnect();
      }
      await new Promise<void>((resolve) => clock.setTimer(draw.below(20), resolve));
    }
  }

  async #write(
    client: SimClient,
    to: { host: string; port: number },
    register: Register,
  ): Promise<boolean> {
    const value = ++register.sent;
    const reply = await client.call(to, ['SET', register.key, String(value)]);
    this.#cluster.note(`set ${register.key} ${value} ${textOf(reply)}`);
    if (reply?.kind !== 'simple') return reply !== undefined;
    register.acked = value;
    this.acknowledged++;
    return true;
  }

  async #read(
    client: SimClient,
    to: { host: string; port: number },
    register: Register,
  ): Promise<boolean> {
    const { acked } = register;
    const reply = await client.call(to, ['GET', register.key]);
    this.#cluster.note(`get ${register.key} ${textOf(reply)}`);
    this.#judge(register, acked, reply);
    return reply !== undefined;
  }

  #judge({ key, sent }: Register, atLeast: number, reply: Reply | undefined): void {
    if (reply === undefined || reply.kind === 'error') return;
    const value = reply.kind === 'bulk' ? Number(reply.bytes.toString()) : 0;
    if (value < atLeast || value > sent) {
      this.violations.push(`${key} is ${value}; ${atLeast} was acknowledged, ${sent} sent`);
    }
  }

  async #readEverything(): Promise<void> {
    const { scheduler, network, clock, names } = this.#cluster;
    for (const name of names) {
      const client = new SimClient(network.node(`reader of ${name}`), clock);
      for (const register of this.#registers) {
        let reply: Reply | undefined;
        let answered = false;
        void client.call({ host: name, port: GATEWAY_PORT }, ['GET', register.key]).then((got) => {
          reply = got;
          answered = true;
        });
        await scheduler.runUntil(() => answered, 5_000);
        if (reply === undefined || reply.kind === 'error') {
          this.violations.push(`${name} does not answer for ${register.key}: ${textOf(reply)}`);
        }
        this.#judge(register, register.acked, reply);
      }
    }
  }
}

function textOf(reply: Reply | undefined): string {
  if (reply === undefined) return 'no answer';
  if (reply.kind === 'bulk') return reply.bytes.toString();
  return reply.kind === 'error' || reply.kind === 'simple' ? reply.text : reply.kind;
}
