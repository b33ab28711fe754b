/**
 * Commands of a stream on their way to the partitions of a cluster. Those of one partition take effect in
 * their order: as many as have gathered leave as one transaction, and the next when that is answered.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { KvorumError } from '../../../common/errors.ts';
import type { Client } from '../../../sdk/client.ts';
import { ClientError, ReplyError } from '../../../sdk/errors.ts';
import { keyText } from '../rdb/rdb-events.ts';
import type { Report } from '../report.ts';
import type { Line } from './command-plan.ts';

const LINES_MAX = 128;
const BYTES_MAX = 262_144;
const AGAIN_MS = 500;
/** Commands that wait, of all partitions; and their bytes. */
const WAITING_MAX = 16_384;
const WAITING_BYTES_MAX = 32 * 1_048_576;

/** What has to take effect together. */
export interface Unit {
  readonly lines: readonly Line[];
  /** It has taken effect, or was left out. */
  done(): void;
}

interface Lane {
  readonly client: Client;
  readonly units: Unit[];
  isBusy: boolean;
}

export class Lanes {
  readonly #report: Report;
  readonly #lanes = new Map<string, Lane>();
  #waiting = 0;
  #bytes = 0;
  #failure: { readonly cause: unknown } | undefined;
  #whenChanged: (() => void)[] = [];

  constructor(report: Report) {
    this.#report = report;
  }

  add(client: Client, namespace: string, partition: number, unit: Unit): void {
    const name = `${namespace}/${partition}`;
    const lane = this.#lanes.get(name) ?? { client, units: [], isBusy: false };
    this.#lanes.set(name, lane);
    lane.units.push(unit);
    this.#waiting += unit.lines.length;
    this.#bytes += bytesOf(unit);
    if (!lane.isBusy) void this.#pump(lane);
  }

  get hasRoom(): boolean {
    return this.#waiting < WAITING_MAX && this.#bytes < WAITING_BYTES_MAX;
  }

  async room(): Promise<void> {
    while (!this.hasRoom) await this.#change();
    this.check();
  }

  /** Resolves when all that was added has taken effect. */
  async idle(): Promise<void> {
    while (this.#waiting > 0) await this.#change();
    this.check();
  }

  /** Throws what ended it. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure.cause;
  }

  /** Runs lines as one transaction, or one by one where that is refused. */
  async run(client: Client, lines: readonly Line[]): Promise<void> {
    for (;;) {
      try {
        if (lines.length === 1) await this.#one(client, lines[0]!);
        else await this.#transaction(client, lines);
        return;
      } catch (failure) {
        if (!(failure instanceof ClientError)) throw failure;
        if (failure.code === 'DONE') return;
        if (failure.retriable) {
          this.#report.warn(`the cluster is waited for: ${failure.message}`);
          await sleep(AGAIN_MS);
          continue;
        }
        if (failure.code === 'OUTCOME_UNKNOWN') throw unknown(failure);
        const [only] = lines;
        if (lines.length === 1) return this.refuse(only!, failure.message);
        for (const line of lines) await this.run(client, [line]);
        return;
      }
    }
  }

  refuse(line: Line, why: string): void {
    const [name, key] = line;
    const of = key === undefined ? '' : ` of ${keyText(key)}`;
    this.#report.refuse(`the command ${name?.toString('latin1')}${of}`, why);
  }

  async #one(client: Client, [name, ...args]: Line): Promise<void> {
    await client.callBuffer(name!.toString('latin1'), ...args);
  }

  async #transaction(client: Client, lines: readonly Line[]): Promise<void> {
    const transaction = client.multi();
    for (const [name, ...args] of lines) transaction.callBuffer(name!.toString('latin1'), ...args);
    const results = await transaction.exec();
    results.forEach(([failure], at) => {
      if (failure instanceof ReplyError) this.refuse(lines[at]!, failure.message);
    });
  }

  async #pump(lane: Lane): Promise<void> {
    lane.isBusy = true;
    // what comes in this turn leaves together
    await undefined;
    while (lane.units.length > 0 && this.#failure === undefined) {
      const units = taken(lane.units);
      try {
        await this.run(
          lane.client,
          units.flatMap(({ lines }) => lines),
        );
        for (const unit of units) {
          this.#waiting -= unit.lines.length;
          this.#bytes -= bytesOf(unit);
          unit.done();
        }
      } catch (cause) {
        this.#failure ??= { cause };
      }
      for (const tell of this.#whenChanged.splice(0)) tell();
    }
    lane.isBusy = false;
  }

  async #change(): Promise<void> {
    this.check();
    await new Promise<void>((resolve) => this.#whenChanged.push(resolve));
    this.check();
  }
}

/** As many as leave together, one at least. */
function taken(units: Unit[]): Unit[] {
  let [count, lines, bytes] = [0, 0, 0];
  for (const unit of units) {
    lines += unit.lines.length;
    bytes += bytesOf(unit);
    if (count > 0 && (lines > LINES_MAX || bytes > BYTES_MAX)) break;
    count++;
  }
  return units.splice(0, count);
}

function bytesOf({ lines }: Unit): number {
  let bytes = 0;
  for (const line of lines) for (const { length } of line) bytes += length;
  return bytes;
}

function unknown(failure: ClientError): KvorumError {
  return new KvorumError(
    'OUTCOME_UNKNOWN',
    `${failure.message}; nothing is sent again that may have taken effect: begin anew ` +
      '(over a placedriver, --url, such a write is asked for again until its outcome is known)',
    { cause: failure },
  );
}
