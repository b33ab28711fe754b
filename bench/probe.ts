/** Clients that write one key again and again, to see when it can be written. */
import { pause } from '../tools/children.ts';
import { RespClient } from './resp-client.ts';

const AGAIN_MS = 5;

/** A write that was accepted; times as of `performance.now()`. */
export interface Accepted {
  /** When it was first tried. */
  readonly sentMs: number;
  readonly answeredMs: number;
}

/** One connection to a door; one write is under way at a time, tried again when it is refused. */
export class Probe {
  readonly #client: RespClient;
  readonly #key: string;
  #isOver = false;

  private constructor(client: RespClient, key: string) {
    this.#client = client;
    this.#key = key;
  }

  static async open(port: number, key: string): Promise<Probe> {
    return new Probe(await RespClient.open('127.0.0.1', port), key);
  }

  /** Undefined when it was closed before a write was accepted. */
  async write(): Promise<Accepted | undefined> {
    const sentMs = performance.now();
    while (!this.#isOver) {
      try {
        await this.#client.ask('SET', this.#key, String(sentMs));
        return { sentMs, answeredMs: performance.now() };
      } catch {
        await pause(AGAIN_MS);
      }
    }
    return undefined;
  }

  /** Writes, with a pause after each, until it is closed. */
  async writeOn(pauseMs: number, heard: (write: Accepted) => void): Promise<void> {
    while (!this.#isOver) {
      const write = await this.write();
      if (write !== undefined) heard(write);
      // without a pause, too, timers and other connections get their turn
      await pause(pauseMs);
    }
  }

  close(): void {
    this.#isOver = true;
    this.#client.close();
  }
}
