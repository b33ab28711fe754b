/**
 * Clients that push elements of which no two are equal, and clients that block for them: none is
 * given twice, and none is lost but with a wait whose answer never came. Part of a run with
 * `--consumers`; other runs are not touched by it.
 */
import type { Random } from '../../src/common/random.ts';
import type { Reply } from '../../src/datanode/resp/reply.ts';
import { Violation } from './checkers/checker.ts';
import { SimClient } from './client.ts';
import { GATEWAY_PORT, type SimCluster } from './cluster.ts';

const PRODUCERS = 2;
const ANSWER_MS = 12_000;
const THINK_MS = 2_000;
const LISTS = ['{q}1', '{q}2', '{q}3'];
const ZSET = '{q}z';

export class Queues {
  /** Clients that still wait for an answer. */
  busy = 0;
  readonly #cluster: SimCluster;
  readonly #pushed = new Set<string>();
  /** Their pushes were not answered: they may be there. */
  readonly #perhaps = new Set<string>();
  readonly #given = new Map<string, number>();
  /** Waits without an answer that tells: each may have taken elements. */
  #lost = 0;
  #running = true;
  #elements = 0;

  constructor(cluster: SimCluster) {
    this.#cluster = cluster;
    const consumers = cluster.plan.consumers ?? 0;
    for (let at = 0; consumers > 0 && at < PRODUCERS; at++) void this.#produce(`producer${at}`);
    for (let at = 0; at < consumers; at++) void this.#consume(`consumer${at}`);
  }

  get given(): number {
    return this.#given.size;
  }

  stop(): void {
    this.#running = false;
  }

  /** Throws Violation; `left`: what is still in the lists and the sorted set. */
  judge(left: readonly string[]): void {
    if (this.#cluster.plan.consumers === undefined) return;
    for (const element of left) this.#give(element);
    const missing = [...this.#pushed].filter((element) => !this.#given.has(element));
    if (missing.length > this.#lost) {
      const text = `${missing.length} elements are missing, ${this.#lost} waits lost: ${missing}`;
      throw new Violation('queues', text);
    }
  }

  /** What `judge` wants to know, asked of a node that answers. */
  async left(host: string): Promise<string[]> {
    const { network, clock } = this.#cluster;
    const client = new SimClient(network.node(`asker of queues`), clock);
    const ask = async (...words: string[]) =>
      elementsOf(await client.call({ host, port: GATEWAY_PORT }, words, ANSWER_MS));
    const lists: string[] = [];
    for (const list of LISTS) lists.push(...(await ask('LRANGE', list, '0', '-1')));
    return [...lists, ...(await ask('ZRANGE', ZSET, '0', '-1'))];
  }

  async #produce(name: string): Promise<void> {
    await this.#drive(name, async (draw, ask) => {
      const elements = Array.from({ length: 1 + draw.below(3) }, () => `${++this.#elements}`);
      const list = LISTS[draw.below(LISTS.length)]!;
      const words =
        draw.below(4) === 0
          ? ['ZADD', ZSET, ...elements.flatMap((element) => [element, element])]
          : ['RPUSH', list, ...elements];
      for (const element of elements) this.#perhaps.add(element);
      const reply = await ask(words);
      if (reply?.kind === 'integer') for (const element of elements) this.#pushed.add(element);
      return reply;
    });
  }

  async #consume(name: string): Promise<void> {
    await this.#drive(name, async (draw, ask) => {
      const timeout = String((100 + draw.below(2_000)) / 1_000);
      const kind = draw.below(4);
      const [first, second] = [LISTS[draw.below(3)]!, LISTS[draw.below(3)]!];
      if (kind === 0) {
        // it stays in the lists, whoever moves it
        return ask(['BLMOVE', first, second, 'LEFT', 'RIGHT', timeout]);
      }
      const words = kind === 1 ? ['BZPOPMIN', ZSET] : ['BLPOP', first, second];
      const reply = await ask([...words, timeout]);
      if (reply === undefined || reply.kind === 'error') this.#lost++;
      if (reply?.kind === 'array') this.#give(elementsOf(reply)[1]!);
      return reply;
    });
  }

  #give(element: string): void {
    const times = (this.#given.get(element) ?? 0) + 1;
    this.#given.set(element, times);
    if (times > 1) throw new Violation('queues', `${element} was given ${times} times`);
    if (!this.#perhaps.has(element)) throw new Violation('queues', `nobody pushed ${element}`);
  }

  async #drive(
    name: string,
    act: (
      draw: Random,
      ask: (words: readonly string[]) => Promise<Reply | undefined>,
    ) => Promise<Reply | undefined>,
  ): Promise<void> {
    const { network, clock, random, machines, scheduler } = this.#cluster;
    const client = new SimClient(network.node(name), clock);
    const draw = random.fork(name);
    let host = machines[draw.below(machines.length)]!.name;
    const ask = async (words: readonly string[]) => {
      this.busy++;
      const reply = await client.call({ host, port: GATEWAY_PORT }, words, ANSWER_MS);
      this.busy--;
      scheduler.note(`${name} ${words.join(' ')}: ${reply && elementsOf(reply).join(' ')}`);
      return reply;
    };
    while (this.#running) {
      try {
        const reply = await act(draw, ask);
        if (reply === undefined || draw.below(30) === 0) {
          client.disconnect();
          host = machines[draw.below(machines.length)]!.name;
        }
      } catch (violation) {
        this.#cluster.broken.push(String(violation));
        return;
      }
      const pauseMs = draw.float() * THINK_MS;
      await new Promise<void>((resolve) => clock.setTimer(pauseMs, resolve));
    }
  }
}

function elementsOf(reply: Reply | undefined): string[] {
  if (reply?.kind === 'bulk') return [reply.bytes.toString()];
  if (reply?.kind === 'error') return [reply.text];
  return reply?.kind === 'array' ? reply.items.flatMap(elementsOf) : [];
}
