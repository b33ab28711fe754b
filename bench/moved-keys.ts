/** Clients of the nodes that keys were found to have moved to, as cluster clients keep them. */
import { RespClient } from './resp-client.ts';

export class MovedKeys {
  readonly #nodes = new Map<number, Promise<RespClient>>();
  readonly #homes = new Map<string, Promise<RespClient>>();

  /** Who is asked for keys with `prefix` since they moved; undefined: they did not. */
  homeOf(prefix: string): Promise<RespClient> | undefined {
    return this.#homes.get(prefix);
  }

  /** True when `failure` says where keys with `prefix` are; from then on that node is asked. */
  follow(prefix: string, failure: Error): boolean {
    const [, port] = /^MOVED \d+ \S*:(\d+)$/.exec(failure.message) ?? [];
    if (port === undefined) return false;
    this.#homes.set(prefix, this.#nodeAt(Number(port)));
    return true;
  }

  /** One connection for all keys that moved there: few do. */
  #nodeAt(port: number): Promise<RespClient> {
    let node = this.#nodes.get(port);
    if (node === undefined) {
      node = RespClient.open('127.0.0.1', port);
      this.#nodes.set(port, node);
    }
    return node;
  }

  close(): void {
    for (const node of this.#nodes.values()) {
      node.then(
        (client) => client.close(),
        () => {}, // whoever asked was told
      );
    }
  }
}
