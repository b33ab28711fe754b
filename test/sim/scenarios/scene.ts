/**
 * The words in which scenarios are written: who leads, what is sent where, what breaks, what must come
 * about. Whatever is sent is part of the history that is judged in the end; every step on the way is
 * judged as in a drawn run.
 */
import { must } from '../../../src/common/assert.ts';
import { codeOf } from '../../../src/common/errors.ts';
import type { Replica } from '../../../src/datanode/partition/replica/replica.ts';
import type { Reply } from '../../../src/datanode/resp/reply.ts';
import type { Operator } from '../../../src/placedriver/operator/operator.ts';
import { type Call, textOf } from '../call.ts';
import { Violation } from '../checkers/checker.ts';
import { unknownTold } from '../checkers/outcomes.ts';
import { SimClient } from '../client.ts';
import { GATEWAY_PORT, type SimCluster } from '../cluster.ts';
import { describe, isWhole } from '../whole.ts';
import { meaningOf } from '../workload.ts';

export type Script = (scene: Scene) => Promise<void>;

/** A client gives up after this. */
export const ANSWER_MS = 8_000;
const WITHIN_MS = 20_000;
const OPERATOR_TRIES = 100;
const OPERATOR_PAUSE_MS = 50;
/** The partition that scenarios look at. */
export const FIRST = { namespace: 'default', partition: 0 };

export interface Stage {
  readonly cluster: SimCluster;
  readonly history: Call[];
  /** Runs judged steps until the condition holds; false: not within the time. */
  readonly steps: (withinMs: number, condition: () => boolean) => Promise<boolean>;
}

export interface SceneClient {
  send(...words: string[]): Sent;
  /** What the history of single keys cannot say, a transaction: the scenario alone judges it. */
  tell(...words: string[]): Sent;
}

/** A command on its way. */
export interface Sent {
  readonly reply: Promise<Reply | undefined>;
  /** True once it was answered, or nobody waits any more. */
  over: boolean;
}

export class Scene {
  readonly cluster: SimCluster;
  readonly #stage: Stage;
  /** Commands under way. */
  waiting = 0;
  #clients = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.cluster = stage.cluster;
  }

  // -- time -------------------------------------------------------------------------------------

  async pass(ms: number): Promise<void> {
    await this.#stage.steps(ms, () => false);
  }

  /** Throws a violation of liveness when it does not come about in time. */
  async until(what: string, condition: () => boolean, withinMs = WITHIN_MS): Promise<void> {
    if (await this.#stage.steps(withinMs, condition)) return;
    throw new Violation(
      'liveness',
      `${what}: not within ${withinMs} ms\n${describe(this.cluster)}`,
    );
  }

  /** Every partition has its replicas, caught up. */
  async whole(): Promise<void> {
    await this.until('whole', () => isWhole(this.cluster), 60_000);
  }

  async settled<T>(work: Promise<T>): Promise<T> {
    let over = false;
    const end = () => {
      over = true;
    };
    work.then(end, end);
    await this.until('an end of what was asked of the operator', () => over);
    return work;
  }

  /** What the scenario itself says must hold. */
  expect(holds: boolean, text: string): void {
    if (!holds) throw new Violation('scenario', `${text}\n${describe(this.cluster)}`);
  }

  // -- who --------------------------------------------------------------------------------------

  get names(): string[] {
    return this.cluster.machines.map(({ name }) => name);
  }

  /** The replica of a partition that runs on a node. */
  replica(node: string, partition = 0): Replica | undefined {
    const replicas = this.cluster.machine(node).life?.datanode?.replicas() ?? [];
    return replicas.find(({ record, stopped }) => record.partition === partition && !stopped);
  }

  /** Whoever leads in the newest term; undefined: nobody does. */
  leads(partition = 0): string | undefined {
    const leading = this.names.filter((name) => this.replica(name, partition)?.isLeader);
    const term = (name: string) => this.replica(name, partition)!.term;
    return leading.sort((a, b) => term(b) - term(a))[0];
  }

  leader(partition = 0): string {
    return must(this.leads(partition), `nobody leads partition ${partition}`);
  }

  /** Nodes of the other replicas that are wanted: one that is to go may still be there. */
  followers(partition = 0): string[] {
    const leader = this.leader(partition);
    const record = this.cluster.records().find((of) => of.partition === partition);
    return must(record, 'a record').replicas.flatMap(({ node }) => (node === leader ? [] : [node]));
  }

  /** One of `names` leads, in a term in which it has committed. */
  async leaderAmong(...names: string[]): Promise<string> {
    const found = () =>
      names.find((name) => {
        const replica = this.replica(name);
        return (
          replica?.isLeader && replica.inspect().log.term(replica.appliedIndex) === replica.term
        );
      });
    await this.until(`a leader among ${names}`, () => found() !== undefined);
    return found()!;
  }

  /** All running replicas of partition 0 have applied the same. */
  async level(): Promise<void> {
    const indexes = () =>
      new Set(this.names.flatMap((name) => this.replica(name)?.appliedIndex ?? []));
    await this.until('replicas at one index', () => indexes().size === 1);
  }

  // -- clients ----------------------------------------------------------------------------------

  /** A client of its own sends a command to a node. */
  send(node: string, ...words: string[]): Sent {
    return this.client(node).send(...words);
  }

  /** A client that keeps its connection: a node that stands still takes no new ones. */
  client(node: string, patienceMs = ANSWER_MS): SceneClient {
    const { network, clock } = this.cluster;
    const number = 1_000 + this.#clients++;
    const client = new SimClient(network.node(`scene client ${number}`), clock);
    const call = (words: readonly string[]) =>
      client.call({ host: node, port: GATEWAY_PORT }, words, patienceMs);
    return {
      send: (...words) => this.#send(number, words, call(words)),
      tell: (...words) => this.#tell(call(words)),
    };
  }

  #tell(reply: Promise<Reply | undefined>): Sent {
    this.waiting++;
    const sent: Sent = {
      reply: reply.finally(() => {
        this.waiting--;
        sent.over = true;
      }),
      over: false,
    };
    return sent;
  }

  #send(number: number, words: readonly string[], reply: Promise<Reply | undefined>): Sent {
    const { clock, scheduler } = this.cluster;
    const invokedMs = clock.monotonicMs();
    const call: Call = { client: number, words, invokedMs, returnedMs: Infinity, reply: undefined };
    this.waiting++;
    const take = (reply: Reply | undefined) => {
      scheduler.note(`scene ${words.join(' ')}: ${textOf(reply)}`);
      const wrong = unknownTold(words, reply);
      if (wrong !== undefined) this.cluster.unknownOutcomes.push(wrong);
      const meaning = meaningOf(reply);
      if (meaning !== 'refused') this.#stage.history.push(call);
      if (meaning === 'known') {
        call.returnedMs = clock.monotonicMs();
        call.reply = reply;
      }
      this.waiting--;
      sent.over = true;
      return reply;
    };
    const sent: Sent = { reply: reply.then(take), over: false };
    return sent;
  }

  /** The reply; undefined: none came. */
  async answer(sent: Sent): Promise<Reply | undefined> {
    await this.until('an end of what was sent', () => sent.over);
    return sent.reply;
  }

  async ask(node: string, ...words: string[]): Promise<Reply | undefined> {
    return this.answer(this.send(node, ...words));
  }

  /** A command that must be carried out; what it answered. */
  async must(node: string, ...words: string[]): Promise<string> {
    const reply = await this.ask(node, ...words);
    this.expect(
      meaningOf(reply) === 'known',
      `${node} answers ${textOf(reply)} to ${words.join(' ')}`,
    );
    return textOf(reply);
  }

  /** `count` writes to keys k0, k1, …, `width` under way at a time. */
  async fill(node: string, count: number, text: string, width = 8): Promise<void> {
    for (let at = 0; at < count; at += width) {
      const sent = Array.from({ length: Math.min(width, count - at) }, (_, more) =>
        this.send(node, 'SET', `k${at + more}`, `${text}${at + more}`),
      );
      await this.until('writes answered', () => sent.every(({ over }) => over));
      for (const { reply } of sent)
        this.expect(textOf(await reply) === 'OK', `${node} takes no writes`);
    }
  }

  // -- operators --------------------------------------------------------------------------------

  /** What an operator asks of the master, once there is one, again while it says: not now. */
  async operate<T>(ask: (operator: Operator) => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries++) {
      await this.until('a master', () => this.cluster.operator !== undefined);
      try {
        return await this.settled(ask(this.cluster.operator!));
      } catch (error) {
        if (codeOf(error) !== 'CONFLICT' || tries === OPERATOR_TRIES) throw error;
        await this.pass(OPERATOR_PAUSE_MS);
      }
    }
  }

  /** As `operate`, for what gives a partition other members. */
  change(ask: (operator: Operator) => Promise<void>): Promise<void> {
    this.cluster.operatorMoves = true;
    return this.operate(ask);
  }

  /** The replica of partition 0 on `from` moves to `to`, as soon as it can. */
  move(from: string, to: string): Promise<void> {
    return this.change((operator) => operator.move(FIRST, from, to));
  }

  /** A node without a replica of partition 0, none of `besides`. */
  spare(besides: readonly string[] = []): string {
    const replicas = this.cluster.records()[0]!.replicas.map(({ node }) => node);
    const taken = [...replicas, ...besides];
    return must(
      this.names.find((name) => !taken.includes(name)),
      'a spare node',
    );
  }

  // -- what breaks ------------------------------------------------------------------------------

  /** The node is cut off from all others, not from clients and the store. */
  isolate(node: string): void {
    this.cluster.note(`isolate ${node}`);
    this.cluster.network.partition(
      [node],
      this.names.filter((name) => name !== node),
    );
  }

  split(one: readonly string[], other: readonly string[]): void {
    this.cluster.note(`split ${one} from ${other}`);
    this.cluster.network.partition(one, other);
  }

  healAll(): void {
    this.cluster.note('heal');
    this.cluster.network.healAll();
  }

  restart(node: string, how: 'power' | 'process'): void {
    this.cluster.crash(node, how);
    this.cluster.start(node);
  }

  restartAll(how: 'power' | 'process'): void {
    for (const name of this.names) this.cluster.crash(name, how);
    for (const name of this.names) this.cluster.start(name);
  }

  /** The node's wall clock is set. */
  jump(node: string, byMs: number): void {
    const machine = this.cluster.machine(node);
    this.cluster.note(`clock of ${node} jumps by ${byMs}`);
    machine.offsetMs += byMs;
    machine.life?.clock.jump(byMs);
  }

  /** So many bytes more and the node's disk takes none; its process may end by that. */
  fillDisk(node: string, bytes: number): void {
    const machine = this.cluster.machine(node);
    machine.diskFaults++;
    machine.diskFaulted = true;
    machine.disk.fullAfterBytes(machine.disk.usedBytes + bytes);
  }

  /** All disks take so many times as long. */
  slowDisks(times: number): void {
    for (const { disk } of this.cluster.machines) disk.slow(times);
  }

  freeDisk(node: string): void {
    const machine = this.cluster.machine(node);
    machine.diskFaults--;
    machine.disk.fullAfterBytes(Number.POSITIVE_INFINITY);
  }

  /** The process ends, and an empty disk is put in; `start` is left to the scenario. */
  wipe(node: string): void {
    this.cluster.crash(node, 'process');
    this.cluster.machine(node).wipe();
    this.cluster.durable.wiped(node);
  }

  /** The process ends, and starts again; what was on its disk between. */
  copy(node: string): ReadonlyMap<string, Buffer> {
    this.cluster.crash(node, 'process');
    const copy = this.cluster.machine(node).disk.copy();
    this.cluster.start(node);
    return copy;
  }

  /** The process ends, and an older copy of its disk is put back; `start` is left to the scenario. */
  putBack(node: string, copy: ReadonlyMap<string, Buffer>): void {
    this.cluster.crash(node, 'process');
    this.cluster.machine(node).putBack(copy);
    this.cluster.durable.setBack(node);
  }
}
