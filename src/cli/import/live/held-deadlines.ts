/**
 * While an import is behind its source, a key may be due here before the command that puts its deadline
 * off has been applied; at the source it lives on. A replica of a Redis lets no key go by itself for
 * that reason, but waits for the DEL. So deadlines that are near are put off as long as a source is
 * followed, and are as it has them again at the end: unless a command has changed them meanwhile.
 */
import type { Client } from '../../../sdk/client.ts';
import type { KeyHead } from '../rdb/rdb-events.ts';
import type { Report } from '../report.ts';
import type { Target } from '../target.ts';
import type { Line } from './command-plan.ts';

const HOUR_MS = 3_600_000;
/** What is due later is so after any lag that there should be. */
const NEAR_MS = HOUR_MS;
const PUT_OFF_MS = 24 * HOUR_MS;
/** Some 200 MiB. */
const KEYS_MAX = 1_000_000;
/** Keys that are given back their deadlines at once. */
const STEP_KEYS = 500;

interface Held {
  readonly namespace: string;
  readonly key: Buffer;
  readonly deadlineMs: number;
  readonly untilMs: number;
}

/** Where in a line a deadline stands, and in which unit. */
interface Place {
  readonly at: number;
  readonly unitMs: number;
}

export class HeldDeadlines {
  readonly #report: Report;
  readonly #held = new Map<string, Held>();

  constructor(report: Report) {
    this.#report = report;
  }

  /** Deadlines that are not yet as the source has them. */
  get count(): number {
    return this.#held.size;
  }

  /** Of a key of the picture. */
  readonly ofKey = (head: KeyHead, namespace: string): KeyHead => {
    const { key, deadlineMs } = head;
    if (deadlineMs === undefined) return head;
    return { ...head, deadlineMs: this.#hold(namespace, key, deadlineMs) };
  };

  /** Of a command of the stream. */
  ofLine(namespace: string, line: Line): Line {
    const name = line[0]!.toString('latin1').toLowerCase();
    const [, key, other] = line;
    if (key === undefined) return line;
    if (name === 'del' || name === 'unlink') this.#forget(namespace, line);
    if (carries.has(name) && other !== undefined) this.#copy(namespace, key, other);
    const place = placeOf(name, line);
    if (place === undefined) return line;
    const deadlineMs = Number(line[place.at]) * place.unitMs;
    const untilMs = this.#hold(namespace, key, deadlineMs);
    if (untilMs === deadlineMs) return line;
    const text = Buffer.from(String(Math.floor(untilMs / place.unitMs)));
    return line.map((word, at) => (at === place.at ? text : word));
  }

  /** Nothing else may be under way. */
  async giveAllBack(target: Target): Promise<void> {
    while (this.#held.size > 0) await this.#giveSomeBack(target);
  }

  async #giveSomeBack(target: Target): Promise<void> {
    const some: Held[] = [];
    for (const [name, held] of this.#held) {
      if (some.length === STEP_KEYS) break;
      this.#held.delete(name);
      some.push(held);
    }
    const byNamespace = new Map<string, Held[]>();
    for (const held of some) {
      const those = byNamespace.get(held.namespace) ?? [];
      those.push(held);
      byNamespace.set(held.namespace, those);
    }
    for (const [namespace, those] of byNamespace) {
      await this.#giveBack(await target.client(namespace), those);
    }
  }

  async #giveBack(client: Client, held: readonly Held[]): Promise<void> {
    const now = await Promise.all(held.map(({ key }) => client.call('PEXPIRETIME', key)));
    const same = held.filter(({ untilMs }, at) => now[at] === untilMs);
    await Promise.all(same.map(({ key, deadlineMs }) => client.call('PEXPIREAT', key, deadlineMs)));
    const nowMs = Date.now();
    this.#report.add('expired', same.filter(({ deadlineMs }) => deadlineMs <= nowMs).length);
  }

  #hold(namespace: string, key: Buffer, deadlineMs: number): number {
    const nowMs = Date.now();
    const name = nameOf(namespace, key);
    if (deadlineMs > nowMs + NEAR_MS || !Number.isFinite(deadlineMs)) {
      this.#held.delete(name);
      return deadlineMs;
    }
    if (this.#held.size >= KEYS_MAX && !this.#held.has(name)) {
      this.#report.warn(
        `more than ${KEYS_MAX} keys are due within the hour: the rest is not put off`,
      );
      return deadlineMs;
    }
    // whole seconds: commands that count in them say the same
    const untilMs = 1_000 * Math.floor((nowMs + PUT_OFF_MS) / 1_000);
    this.#held.set(name, { namespace, key: Buffer.from(key), deadlineMs, untilMs });
    return untilMs;
  }

  #forget(namespace: string, line: Line): void {
    if (this.#held.size === 0) return;
    for (let at = 1; at < line.length; at++) this.#held.delete(nameOf(namespace, line[at]!));
  }

  #copy(namespace: string, from: Buffer, to: Buffer): void {
    const held = this.#held.get(nameOf(namespace, from));
    if (held === undefined) return;
    this.#held.set(nameOf(namespace, to), { ...held, key: Buffer.from(to) });
  }
}

/** Commands that give the second key the deadline of the first. */
const carries: ReadonlySet<string> = new Set(['rename', 'renamenx', 'copy']);

function nameOf(namespace: string, key: Buffer): string {
  return `${namespace}\0${key.toString('latin1')}`;
}

function placeOf(name: string, line: Line): Place | undefined {
  switch (name) {
    case 'pexpireat':
      return { at: 2, unitMs: 1 };
    case 'expireat':
      return { at: 2, unitMs: 1_000 };
    case 'restore':
      return optionAt(line, 4, 'absttl') > 0 && String(line[2]) !== '0'
        ? { at: 2, unitMs: 1 }
        : undefined;
    case 'set':
    case 'getex': {
      const from = name === 'set' ? 3 : 2;
      const ms = optionAt(line, from, 'pxat');
      if (ms > 0) return { at: ms + 1, unitMs: 1 };
      const seconds = optionAt(line, from, 'exat');
      return seconds > 0 ? { at: seconds + 1, unitMs: 1_000 } : undefined;
    }
    default:
      return undefined;
  }
}

function optionAt(line: Line, from: number, option: string): number {
  return line.findIndex(
    (word, at) => at >= from && word.toString('latin1').toLowerCase() === option,
  );
}
