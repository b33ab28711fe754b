/**
 * Where machines are: each in a network namespace, joined by a bridge on which the clients are too;
 * or, where there can be none, each with a loopback address.
 */
import { spawnSync } from 'node:child_process';

export interface Network {
  readonly kind: 'namespaces' | 'loopback';
  /** Of machine 0, 1, … */
  address(machine: number): string;
  /** What runs a program there: words before its own. */
  prefix(machine: number): readonly string[];
  /** Packets that are lost: from, to, and the share of them in percent. Replaces what was lost. */
  lose(rules: readonly Lost[]): void;
  /** A narrow link for all that leaves a machine; undefined: as wide as before. */
  narrow(machine: number, narrow: boolean): void;
}

export interface Lost {
  readonly from: number;
  readonly to: number;
  readonly percent: number;
}

const NETWORK = '10.77.0';
const place = (machine: number) => `/run/netns/m${machine}`;

/** In a world of its own (see private-world) alone. */
export class NamespaceNetwork implements Network {
  readonly kind = 'namespaces';
  /** What a slow link is here; not every kernel can delay packets by a time. */
  readonly slowLink: string;
  readonly #machines: number;
  readonly #slow: readonly string[];

  constructor(machines: number) {
    this.#machines = machines;
    // only root may make a directory in the machine's own /run
    run('mount', '-t', 'tmpfs', 'tmpfs', '/run');
    run('mkdir', '/run/netns');
    run('ip', 'link', 'set', 'lo', 'up');
    run('ip', 'link', 'add', 'kvorum0', 'type', 'bridge');
    run('ip', 'addr', 'add', `${NETWORK}.1/24`, 'dev', 'kvorum0');
    run('ip', 'link', 'set', 'kvorum0', 'up');
    for (let machine = 0; machine < machines; machine++) this.#join(machine);
    const netem = ['netem', 'delay', '60ms', '30ms', 'loss', '1%'];
    if (this.#shape(0, netem)) {
      this.#shape(0, undefined);
      this.#slow = netem;
      this.slowLink = '60 ± 30 ms and 1 % loss (netem)';
    } else {
      this.#slow = ['tbf', 'rate', '1mbit', 'burst', '4kb', 'latency', '250ms'];
      this.slowLink =
        '1 Mbit/s with a queue of up to 250 ms, which drops what it cannot hold (tbf: ' +
        'this kernel has no netem)';
    }
  }

  address(machine: number): string {
    return `${NETWORK}.${11 + machine}`;
  }

  prefix(machine: number): readonly string[] {
    return ['nsenter', `--net=${place(machine)}`];
  }

  lose(rules: readonly Lost[]): void {
    for (let machine = 0; machine < this.#machines; machine++) {
      const lines = rules
        .filter(({ to }) => to === machine)
        .map(({ from, percent }) => {
          const some = percent < 100 ? `numgen random mod 100 < ${percent} ` : '';
          return `    ip saddr ${this.address(from)} ${some}drop`;
        });
      const table = [
        'table inet chaos',
        'delete table inet chaos',
        'table inet chaos {',
        '  chain input {',
        '    type filter hook input priority 0;',
        ...lines,
        '  }',
        '}',
      ];
      runWith(`${table.join('\n')}\n`, ...this.prefix(machine), 'nft', '-f', '-');
    }
  }

  narrow(machine: number, narrow: boolean): void {
    this.#shape(machine, narrow ? this.#slow : undefined);
  }

  #join(machine: number): void {
    const [name, link] = [`m${machine}`, `kvorum${machine + 1}`];
    run('ip', 'netns', 'add', name);
    run('ip', 'link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
    run('ip', 'link', 'set', link, 'master', 'kvorum0', 'up');
    run('ip', '-n', name, 'addr', 'add', `${this.address(machine)}/24`, 'dev', 'eth0');
    run('ip', '-n', name, 'link', 'set', 'eth0', 'up');
    run('ip', '-n', name, 'link', 'set', 'lo', 'up');
  }

  #shape(machine: number, discipline: readonly string[] | undefined): boolean {
    const words = discipline === undefined ? ['del'] : ['add'];
    const args = ['qdisc', ...words, 'dev', 'eth0', 'root', ...(discipline ?? [])];
    const [command, ...rest] = [...this.prefix(machine), 'tc', ...args];
    return spawnSync(command!, rest, { stdio: 'ignore' }).status === 0;
  }
}

/** The whole of 127/8 is loopback: a machine has an address, and no link that could be cut. */
export class LoopbackNetwork implements Network {
  readonly kind = 'loopback';
  readonly #network = 64 + Math.floor(Math.random() * 128);

  address(machine: number): string {
    return `127.${this.#network}.0.${11 + machine}`;
  }

  prefix(): readonly string[] {
    return [];
  }

  lose(rules: readonly Lost[]): void {
    if (rules.length > 0) throw new Error('loopback loses nothing');
  }

  narrow(): void {
    throw new Error('loopback has no links');
  }
}

function run(...words: readonly string[]): void {
  runWith('', ...words);
}

function runWith(input: string, ...[command, ...args]: readonly string[]): void {
  const { status, stderr, error } = spawnSync(command!, args, { input });
  if (status === 0) return;
  const why = error?.message ?? stderr.toString().trim();
  throw new Error(`${[command, ...args].join(' ')}: ${why}`);
}
