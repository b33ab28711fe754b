/**
 * The network between simulated nodes: connections, partitions and crashes on virtual time. The
 * host of an address is the node's name (127.0.0.1 and localhost: the node itself). Bytes arrive in
 * order, late, and cut or merged at will; a cut direction holds them back until it heals, as TCP's
 * retransmission does. The byte links themselves are in sim-stream.ts.
 */
import { assert, must } from '../../src/common/assert.ts';
import type { Address, ByteStream, Listener, Network } from '../../src/common/network.ts';
import type { Random } from '../../src/common/random.ts';
import type { Scheduler } from './scheduler.ts';
import { connectEnds, networkError, type SimEnd, type SimWire } from './sim-stream.ts';

export interface SimNetworkOptions {
  /** One way, drawn per delivery. */
  readonly latencyMinMs?: number;
  readonly latencyMaxMs?: number;
  /** Chance that what has arrived is cut, or merged with what follows. */
  readonly splitChance?: number;
  readonly mergeChance?: number;
  /** Unlimited when left out. */
  readonly bytesPerMs?: number;
}

type OnStream = (stream: ByteStream) => void;

/** One life of a node, from start to crash. */
interface Life {
  readonly node: string;
  alive: boolean;
  /** Ended by loss of power: nothing of it told its peers. */
  silent: boolean;
  readonly ends: Set<SimEnd>;
  readonly listeners: Map<number, OnStream>;
}

const FIRST_FREE_PORT = 20_000;
const OWN_HOSTS: readonly string[] = ['127.0.0.1', 'localhost', '0.0.0.0', '::1'];

export class SimNetwork {
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #options: Required<SimNetworkOptions>;
  readonly #lives = new Map<string, Life>();
  readonly #cuts = new Set<string>();
  /** Ways on which only writes up to so many bytes come through. */
  readonly #narrow = new Map<string, number>();
  readonly #stopped = new Set<string>();
  /** What waits for processes to go on. */
  #asleep: (() => void)[] = [];
  readonly #pending = new Set<SimEnd>();
  #nextPort = FIRST_FREE_PORT;

  constructor(scheduler: Scheduler, random: Random, options: SimNetworkOptions = {}) {
    this.#scheduler = scheduler;
    this.#random = random.fork('network');
    this.#options = {
      latencyMinMs: options.latencyMinMs ?? 0.2,
      latencyMaxMs: options.latencyMaxMs ?? 2,
      splitChance: options.splitChance ?? 0.2,
      mergeChance: options.mergeChance ?? 0.5,
      bytesPerMs: options.bytesPerMs ?? Number.POSITIVE_INFINITY,
    };
  }

  /** The network as `node` sees it in the life that begins now; its life before must have ended. */
  node(node: string): Network {
    assert(!this.#lives.get(node)?.alive, `${node} is still running`);
    const life: Life = { node, alive: true, silent: false, ends: new Set(), listeners: new Map() };
    this.#lives.set(node, life);
    return {
      listen: (address, onStream) => this.#listen(life, address, onStream),
      connect: (address, timeoutMs) => this.#connect(life, address, timeoutMs),
    };
  }

  /** Nothing goes from `from` to `to` until it heals; the other direction is untouched. */
  cut(from: string, to: string): void {
    this.#cuts.add(`${from}>${to}`);
  }

  /** What is written in more bytes than these at once is lost, with all behind it on its connection. */
  narrow(from: string, to: string, bytesMax: number): void {
    this.#narrow.set(`${from}>${to}`, bytesMax);
  }

  heal(from: string, to: string): void {
    this.#cuts.delete(`${from}>${to}`);
    this.#pumpAll();
  }

  /** Cuts both directions between every node of `one` and every node of `other`. */
  partition(one: readonly string[], other: readonly string[]): void {
    for (const a of one) {
      for (const b of other) {
        this.cut(a, b);
        this.cut(b, a);
      }
    }
  }

  healAll(): void {
    this.#cuts.clear();
    this.#narrow.clear();
    this.#pumpAll();
  }

  /** SIGSTOP: what is sent to the node waits in its system. */
  pause(node: string): void {
    this.#stopped.add(node);
  }

  resume(node: string): void {
    this.#stopped.delete(node);
    const asleep = this.#asleep;
    this.#asleep = [];
    for (const run of asleep) run();
    this.#pumpAll();
  }

  /** Breaks every connection between the two: both sides see a reset. */
  reset(one: string, other: string): void {
    for (const end of [...(this.#lives.get(one)?.ends ?? [])]) {
      if (end.peer.node !== other) continue;
      end.abort(networkError('ECONNRESET', 'connection reset'));
      end.peer.abort(networkError('ECONNRESET', 'connection reset'));
    }
  }

  /** The connections there are from one to another as ends of the former, whoever dialed them. */
  endsOf(one: string, other: string): SimEnd[] {
    return [...(this.#lives.get(one)?.ends ?? [])].filter(({ peer }) => peer.node === other);
  }

  /**
   * The process is gone. What it had written still arrives, then a reset; with `silent` (loss of
   * power) nothing does, and the other sides stay half open until they write to a new life.
   */
  crash(node: string, { silent = false }: { silent?: boolean } = {}): void {
    const life = must(this.#lives.get(node), `no node ${node}`);
    this.#stopped.delete(node);
    life.alive = false;
    life.silent = silent;
    life.listeners.clear();
    for (const end of [...life.ends]) end.crash(silent);
    life.ends.clear();
  }

  #listen(life: Life, address: Address, onStream: OnStream): Promise<Listener> {
    if (!life.alive) return new Promise(() => {}); // a crashed process learns nothing any more
    const port = address.port === 0 ? this.#nextPort++ : address.port;
    if (life.listeners.has(port)) {
      const error = networkError('EADDRINUSE', `listen ${address.host}:${port}: address in use`);
      return Promise.reject(error);
    }
    life.listeners.set(port, onStream);
    const accepted = life.ends;
    const close = () => {
      life.listeners.delete(port);
      for (const end of [...accepted]) if (end.localPort === port) end.destroy();
      return Promise.resolve();
    };
    return Promise.resolve({ port, close });
  }

  #connect(life: Life, { host, port }: Address, timeoutMs: number): Promise<ByteStream> {
    const to = OWN_HOSTS.includes(host) ? life.node : host;
    return new Promise((resolve, reject) => {
      let settled = false;
      const settle = (run: () => void) => {
        if (settled || !life.alive) return;
        settled = true;
        timer.cancel();
        this.#whenAwake(life.node, () => {
          if (life.alive) run();
        });
      };
      const fail = (code: string) =>
        settle(() => reject(networkError(code, `connect ${host}:${port}: ${code}`)));
      const timer = this.#scheduler.after(timeoutMs, () => fail('ETIMEDOUT'));
      const passes = (from: string, target: string) => this.#passes(from, target);
      this.#scheduler.after(this.#latencyMs(), () => {
        if (settled || !life.alive || !passes(life.node, to)) return;
        const target = this.#lives.get(to);
        if (target !== undefined && !target.alive && target.silent) return;
        const end = target && this.#accept(life, target, port);
        this.#scheduler.after(this.#latencyMs(), () => {
          if (settled || !passes(to, life.node)) end?.destroy();
          else if (end) settle(() => resolve(end));
          else fail('ECONNREFUSED');
        });
      });
    });
  }

  /** The dialer's end of a new connection, or undefined when nobody listens. */
  #accept(from: Life, to: Life, port: number): SimEnd | undefined {
    const onStream = to.listeners.get(port);
    if (!to.alive || onStream === undefined) return undefined;
    const [dialer, acceptor] = connectEnds(
      this.#wire(from, to),
      { node: from.node, port: this.#nextPort++, ends: from.ends },
      { node: to.node, port, ends: to.ends },
    );
    onStream(acceptor);
    return dialer;
  }

  #wire(one: Life, other: Life): SimWire {
    const lifeOf = (node: string) => (node === one.node ? one : other);
    return {
      scheduler: this.#scheduler,
      random: this.#random,
      splitChance: this.#options.splitChance,
      mergeChance: this.#options.mergeChance,
      bytesPerMs: this.#options.bytesPerMs,
      pending: this.#pending,
      latencyMs: () => this.#latencyMs(),
      passes: (from, to, bytes) => this.#passes(from, to, bytes),
      whenAwake: (node, run) => this.#whenAwake(node, run),
      answersDead: (node) => !lifeOf(node).silent || this.#lives.get(node)?.alive === true,
    };
  }

  #whenAwake(node: string, run: () => void): void {
    this.#scheduler.after(0, () => {
      if (!this.#stopped.has(node)) run();
      else this.#asleep.push(() => this.#whenAwake(node, run));
    });
  }

  #passes(from: string, to: string, bytes = 0): boolean {
    if (this.#stopped.has(to)) return false;
    if (this.#narrow.size > 0 && bytes > (this.#narrow.get(`${from}>${to}`) ?? bytes)) return false;
    return this.#cuts.size === 0 || !this.#cuts.has(`${from}>${to}`);
  }

  #latencyMs(): number {
    const { latencyMinMs, latencyMaxMs } = this.#options;
    return latencyMinMs + this.#random.float() * (latencyMaxMs - latencyMinMs);
  }

  #pumpAll(): void {
    for (const end of [...this.#pending]) end.pump();
  }
}
