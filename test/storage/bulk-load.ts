/**
 * Writers of large values, whose numbers only grow: they keep the engines flushing and compacting
 * and the raft log changing segments while something else happens. What was acknowledged must be
 * there in the end, whole.
 */
import type { Redis } from 'ioredis';
import { type Random, seededRandom } from '../../src/common/random.ts';
import { pause } from '../cluster/cluster.ts';
import { connect } from '../cluster/load.ts';

const KEYS_PER_WRITER = 40;
const BYTES_MAX = 60_000;

interface Register {
  readonly key: string;
  acked: number;
  sent: number;
}

export class BulkLoad {
  bytes = 0;
  readonly #registers: Register[] = [];
  readonly #clients: Redis[] = [];
  readonly #tasks: Promise<void>[];
  #running = true;

  constructor(ports: readonly number[], writers: number) {
    this.#tasks = Array.from({ length: writers }, (_, writer) => {
      const client = connect(ports[writer % ports.length]!);
      this.#clients.push(client);
      const own = Array.from({ length: KEYS_PER_WRITER }, (_, at) => {
        return { key: `bulk:${writer}:${at}`, acked: 0, sent: 0 };
      });
      this.#registers.push(...own);
      return this.#write(client, own, seededRandom(`bulk ${writer}`));
    });
  }

  async stop(): Promise<void> {
    this.#running = false;
    await Promise.all(this.#tasks);
    for (const client of this.#clients) client.disconnect();
  }

  /** What was acknowledged and is not there, or is not whole. */
  async verify(port: number): Promise<string[]> {
    const client = connect(port);
    const wrong: string[] = [];
    for (const { key, acked, sent } of this.#registers) {
      const value = (await client.get(key)) ?? '';
      const number = Number(value.split(' ', 1)[0]);
      const whole = value === '' || value === textOf(number, value.length);
      if (number >= acked && number <= sent && whole) continue;
      wrong.push(`${key}: ${number} (${value.length} bytes), acknowledged ${acked}, sent ${sent}`);
    }
    client.disconnect();
    return wrong;
  }

  async #write(client: Redis, own: readonly Register[], random: Random): Promise<void> {
    for (let turn = 0; this.#running; turn++) {
      const register = own[turn % own.length]!;
      const number = ++register.sent;
      const value = textOf(number, 8 + random.below(BYTES_MAX));
      try {
        await client.set(register.key, value);
        register.acked = number;
        this.bytes += value.length;
      } catch {
        await pause(20);
      }
    }
  }
}

function textOf(number: number, length: number): string {
  return `${number} `.padEnd(length, `${number},`).slice(0, length);
}
