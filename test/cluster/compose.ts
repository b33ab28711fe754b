/**
 * What docker-compose.yml starts, as processes of this machine: its own commands and its own config
 * files, with a loopback address in the place of each service's name and a directory in the place of
 * its volume. Ports stay as they are.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import { kvorum } from './cluster.ts';
import type { Door } from './load.ts';

const root = join(fileURLToPath(import.meta.url), '..', '..', '..');
const VOLUMES = '/var/lib/';
const EVERYWHERE = '0.0.0.0';

interface Service {
  readonly command: readonly string[];
  readonly volumes: readonly string[];
  readonly build: string | object;
  readonly healthcheck?: { readonly test: readonly string[] };
}

/** Every service has 127.NETWORK.0.NUMBER for itself: the whole of 127/8 is loopback. */
export class ComposedCluster {
  readonly services: ReadonlyMap<string, Service>;
  readonly #addresses = new Map<string, string>();
  readonly #directory = mkdtempSync(join(tmpdir(), 'kvorum-compose-'));
  readonly #running = new Map<string, ChildProcess>();

  constructor(file = 'docker-compose.yml') {
    const text = readFileSync(join(root, file), 'utf8');
    const { services } = parse(text, { merge: true }) as { services: Record<string, Service> };
    this.services = new Map(Object.entries(services));
    const network = 64 + Math.floor(Math.random() * 128);
    let number = 0;
    for (const name of this.services.keys()) {
      this.#addresses.set(name, `127.${network}.0.${++number}`);
    }
  }

  names(kind: string): string[] {
    return [...this.services.keys()].filter((name) => name.startsWith(kind));
  }

  door(name: string, port: number): Door {
    return { host: this.#address(name), port };
  }

  url(name: string, port: number): string {
    return `http://${this.#address(name)}:${port}`;
  }

  start(name: string): void {
    const { command, build } = this.services.get(name)!;
    const args = command.map((word) => this.#placed(name, this.#config(name, word)));
    // The image of kvorum has it as its entry point; the other one starts what its command names.
    const isKvorum = build === '.';
    const [program, rest] = isKvorum
      ? [process.execPath, [kvorum, ...args]]
      : [args[0]!, args.slice(1)];
    const log = openSync(join(this.#directory, `${name}.log`), 'a');
    const child = spawn(program, rest, { stdio: ['ignore', log, log] });
    this.#running.set(name, child);
  }

  /** Exit code of its health check; undefined: it has none. */
  async health(name: string): Promise<number | undefined> {
    const [kind, program, ...args] = this.services.get(name)!.healthcheck?.test ?? [];
    if (kind === undefined) return undefined;
    if (kind !== 'CMD' || program !== 'node') throw new Error(`${name}: the image runs only node`);
    // inside its container a service listens on every address
    const rest = args.map((word) => word.replaceAll('127.0.0.1', this.#address(name)));
    const child = spawn(process.execPath, rest, { stdio: 'ignore' });
    return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? -1)));
  }

  /** SIGKILL, to these and no others; resolves when they have ended. */
  async kill(names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => this.#end(name, 'SIGKILL')));
  }

  async destroy(): Promise<void> {
    await this.kill([...this.#running.keys()]);
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #address(name: string): string {
    return this.#addresses.get(name)!;
  }

  /** A config file's name becomes that of a copy with this machine's places. */
  #config(name: string, word: string): string {
    if (!word.endsWith('.yaml')) return word;
    const config = parse(readFileSync(join(root, word), 'utf8')) as {
      host: string;
      listen?: string;
      'data-dir': string;
      meta: { endpoints: string[] };
    };
    const placed = {
      ...config,
      host: this.#address(config.host),
      listen: this.#address(name),
      'data-dir': this.#placed(name, config['data-dir']),
      meta: { endpoints: config.meta.endpoints.map((url) => this.#placed(name, url)) },
    };
    const path = join(this.#directory, `${name}.yaml`);
    writeFileSync(path, stringify(placed));
    return path;
  }

  #placed(name: string, text: string): string {
    const own = join(this.#directory, name);
    mkdirSync(own, { recursive: true });
    return text
      .replaceAll(EVERYWHERE, this.#address(name))
      .replaceAll(/\/\/([a-z]+[0-9]+):/g, (_, service: string) => `//${this.#address(service)}:`)
      .replace(VOLUMES, `${own}/`);
  }

  async #end(name: string, signal: NodeJS.Signals): Promise<void> {
    const child = this.#running.get(name);
    this.#running.delete(name);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
  }
}

/** Whether this machine lets a process listen on any address of 127/8, as Linux does. */
export function hasWholeLoopback(): boolean {
  return networkInterfaces()['lo']?.some(({ cidr }) => cidr === '127.0.0.1/8') ?? false;
}
