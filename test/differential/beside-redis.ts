/**
 * A server of ours and a stock redis-server beside each other for one suite, and connections that
 * ask both the same. Suites that use it are skipped where there is no redis-server.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import type { Protocol } from '../../src/datanode/resp/reply.ts';
import { RealRedis } from '../datanode/commands/real-redis.ts';
import { LoneNode } from '../storage/lone-node.ts';
import { Oracle } from './oracle.ts';

const OPEN_MS = 60_000;

/** Where both take connections, from the suite's first test to its last. */
export interface Beside {
  /** A port of 127.0.0.1. */
  readonly ours: number;
  /** A socket's path. */
  readonly theirs: string;
  readonly redis: RealRedis;
}

interface Ours {
  readonly gateway: number;
  close(): Promise<void>;
}

/**
 * Called in a `describe`: both are started before its tests and stopped after them.
 * `options`: those of redis-server that can only be given at the start.
 */
export function besideRedis(open: () => Promise<Ours>, ...options: string[]): Beside {
  let redis: RealRedis;
  let ours: Ours;
  beforeAll(async () => {
    redis = await RealRedis.start(...options);
    ours = await open();
  }, OPEN_MS);
  afterAll(async () => {
    await redis?.stop();
    await ours?.close();
  }, OPEN_MS);
  return {
    get ours() {
      return ours.gateway;
    },
    get theirs() {
      return redis.path;
    },
    get redis() {
      return redis;
    },
  };
}

/** A whole node of two partitions, on files of its own. */
export async function openNode(): Promise<Ours> {
  const dir = mkdtempSync(join(tmpdir(), 'kvorum-differential-'));
  const node = new LoneNode(dir);
  const close = async () => {
    await node.stop();
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    node.startDriver();
    await node.start();
  } catch (failure) {
    await close();
    throw failure;
  }
  return { gateway: node.datanode.ports.gateway, close };
}

/** A connection to each; what is sent goes to both. */
export class Pair {
  readonly #ours: Oracle;
  readonly #theirs: Oracle;

  private constructor(ours: Oracle, theirs: Oracle) {
    this.#ours = ours;
    this.#theirs = theirs;
  }

  static async connect({ ours, theirs }: Beside, protocol: Protocol): Promise<Pair> {
    return new Pair(
      ...(await Promise.all([Oracle.connect(ours, protocol), Oracle.connect(theirs, protocol)])),
    );
  }

  /** Our reply and theirs, as the bytes they came in. */
  ask(words: readonly (string | Buffer)[]): Promise<readonly [ours: Buffer, theirs: Buffer]> {
    const args = words.map((word) => (typeof word === 'string' ? Buffer.from(word) : word));
    return Promise.all([this.#ours.call(args), this.#theirs.call(args)]);
  }

  close(): void {
    this.#ours.close();
    this.#theirs.close();
  }
}
