/** What was acknowledged, and the comparison of everything a node answers with it. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type { Random } from '../../src/common/random.ts';
import { pause } from '../cluster/cluster.ts';
import type { LoneNode } from './lone-node.ts';

const KEYS = 1_200;
const ROUNDS = 10;
const PER_ROUND = 300;
/** Written alone, after everything else: the newest batch of the log is about it. */
const LAST_KEY = 'last';

export interface Answers {
  readonly wrong: string[];
  readonly missing: string[];
  readonly unread: number;
}

export class Truth {
  /** Null: deleted. */
  readonly #values = new Map<string, string | null>();
  #beforeLast: string | null = null;

  get size(): number {
    return this.#values.size;
  }

  set(key: string, value: string | null): void {
    if (key === LAST_KEY) this.#beforeLast = this.#values.get(key) ?? null;
    this.#values.set(key, value);
  }

  /** Those that are there. */
  values(): string[] {
    return [...this.#values.values()].filter((value) => value !== null);
  }

  /** Reads every key, and lists them. */
  async compare(node: LoneNode): Promise<Answers> {
    const client = node.connect();
    const answers = { wrong: [] as string[], missing: [] as string[], unread: 0 };
    const keys = [...this.#values.keys()];
    const batch = client.pipeline();
    for (const key of keys) batch.get(key);
    const replies = (await batch.exec()) ?? [];
    for (const [at, [failure, value]] of replies.entries()) {
      const key = keys[at]!;
      if (failure !== null) answers.unread++;
      else if (value === this.#values.get(key)) continue;
      else if (key === LAST_KEY && value === this.#beforeLast) answers.missing.push(key);
      else answers.wrong.push(`${key} is ${shorten(value)}, not ${shorten(this.#values.get(key))}`);
    }
    if (answers.unread === 0 && answers.missing.length === 0) await this.#list(client, answers);
    client.disconnect();
    return answers;
  }

  async #list(client: Redis, answers: { wrong: string[]; unread: number }): Promise<void> {
    try {
      const listed = new Set<string>();
      for (let cursor = '0', first = true; first || cursor !== '0'; first = false) {
        const [next, keys] = await client.scan(cursor, 'COUNT', 1_000);
        for (const key of keys) listed.add(key);
        cursor = next;
      }
      const expected = [...this.#values].filter(([, value]) => value !== null).map(([key]) => key);
      for (const key of expected) if (!listed.delete(key)) answers.wrong.push(`${key} not listed`);
      for (const key of listed) answers.wrong.push(`${key} listed`);
      const size = await client.dbsize();
      if (size !== expected.length) answers.wrong.push(`DBSIZE ${size}, not ${expected.length}`);
    } catch {
      answers.unread++;
    }
  }
}

function shorten(value: unknown): string {
  return typeof value === 'string' ? `${value.slice(0, 20)}… (${value.length})` : String(value);
}

/**
 * Sets, sets again and deletes keys in every partition until there are files of all kinds; calls
 * `take` in the very turn in which the last write was acknowledged, nothing having been closed.
 */
export async function writeData(
  node: LoneNode,
  truth: Truth,
  random: Random,
  take: () => void,
): Promise<void> {
  const client = node.connect();
  for (let round = 0; round < ROUNDS; round++) {
    const batch = client.pipeline();
    for (let at = 0; at < PER_ROUND; at++) {
      const key = `key:${random.below(KEYS)}`;
      if (random.below(5) === 0) {
        batch.del(key);
        truth.set(key, null);
      } else {
        const value = `${round}.${at} `.repeat(1 + random.below(300));
        batch.set(key, value);
        truth.set(key, value);
      }
    }
    for (const [failure] of (await batch.exec()) ?? []) if (failure) throw failure;
    await pause(40);
  }
  await client.set(LAST_KEY, 'old');
  truth.set(LAST_KEY, 'old');
  await quiet(node.dir);
  await client.set(LAST_KEY, 'new');
  take();
  truth.set(LAST_KEY, 'new');
  client.disconnect();
}

/**
 * Until no file has changed its size for a while: LevelDB's compactions have ended. Long enough for
 * a thread that gets little of a busy machine to have done something.
 */
export async function quiet(dir: string): Promise<void> {
  let before = '';
  for (let same = 0; same < 15; ) {
    await pause(100);
    const now = sizes(dir);
    same = now === before ? same + 1 : 0;
    before = now;
  }
}

/** Of the files that are there: what a compaction removes meanwhile is another one's. */
function sizes(dir: string): string {
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort();
  const sizeOf = (name: string) => statSync(join(dir, name), { throwIfNoEntry: false })?.size;
  return names.map((name) => `${name} ${sizeOf(name)}`).join('\n');
}
