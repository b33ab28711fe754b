/** A run from its first system to its last scenario, within its time; what it says meanwhile. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { killAll } from '../tools/children.ts';
import { removeDirectory } from './disk.ts';
import { IDLE_PARTITIONS, idleSeconds, measureIdle } from './idle.ts';
import { measureEtcd, measureKvorum, measureRedis } from './measure.ts';
import type { Options } from './options.ts';
import { isInTime, orderOf, roundSeconds } from './plan.ts';
import type { SystemNote } from './report.ts';
import type { Idle, ProcessMemory, Row } from './results.ts';
import type { ScenarioName } from './scenario.ts';
import { scenarios } from './scenarios.ts';
import { round } from './sheet.ts';
import type { SystemName } from './system.ts';
import type { Judged } from './targets.ts';
import type { TimedRow } from './timed.ts';

const measures = { redis: measureRedis, kvorum: measureKvorum, etcd: measureEtcd } as const;

/** What takes longer than this many times its estimate, and some more, is ended. */
const LATE_TIMES = 4;
const LATE_SECONDS = 300;

export interface Figures {
  readonly rows: readonly Row[];
  readonly timed: readonly TimedRow[];
  readonly memory: readonly ProcessMemory[];
  readonly versions: Readonly<Record<string, SystemNote>>;
  /** Undefined when kvorum is not measured. */
  readonly idle: Idle | undefined;
  /** What the scenarios found. */
  readonly found: readonly Judged[];
  /** What there was no time for, and what failed, with the reason. */
  readonly leftOut: readonly string[];
}

export class Run {
  readonly #options: Options;
  readonly #directory: string;
  readonly #say: (line: string) => void;
  readonly #beganMs = performance.now();
  readonly #rows: Row[] = [];
  readonly #timed: TimedRow[] = [];
  readonly #memory: ProcessMemory[] = [];
  readonly #versions: Record<string, SystemNote> = {};
  readonly #found: Judged[] = [];
  readonly #leftOut: string[] = [];

  /** `directory`: for data. */
  constructor(options: Options, directory: string, say: (line: string) => void) {
    this.#options = options;
    this.#directory = directory;
    this.#say = say;
  }

  /** Minutes and seconds since it began. */
  elapsed(): string {
    const seconds = Math.round(this.#seconds());
    return `${String(Math.floor(seconds / 60)).padStart(2)}:${String(seconds % 60).padStart(2, '0')}`;
  }

  async measure(): Promise<Figures> {
    const { rounds, systems, scenarios: chosen } = this.#options;
    for (let at = 1; at <= rounds; at++) {
      for (const system of orderOf(at, systems)) await this.#round(at, system);
    }
    const idle = systems.includes('kvorum') ? await this.#idle() : undefined;
    for (const name of chosen) await this.#scenario(name);
    return {
      ...{ rows: this.#rows, timed: this.#timed, memory: this.#memory, idle },
      ...{ versions: this.#versions, found: this.#found, leftOut: this.#leftOut },
    };
  }

  async #round(at: number, system: SystemName): Promise<void> {
    const options = this.#options;
    const prefix = options.rounds > 1 ? `round ${at}, ` : '';
    const seconds = roundSeconds(options, system);
    await this.#attempt(`${prefix}${system}`, seconds, (directory) =>
      measures[system]({
        options,
        directory,
        began: ({ version, fsync }) => {
          this.#versions[system] = { version, fsync };
          this.#tell(`${prefix}${system} ${version} runs`);
        },
        row: (row) => this.#rows.push({ ...row, system, round: at }),
        timed: (row) => this.#timed.push({ ...row, system, round: at }),
        memory: (name, held) => this.#memory.push({ name, ...held, system, round: at }),
        progress: (text) => this.#tell(`${prefix}${text}`),
      }),
    );
  }

  async #idle(): Promise<Idle | undefined> {
    let idle: Idle | undefined;
    await this.#attempt('idle partitions', idleSeconds(IDLE_PARTITIONS), async (directory) => {
      this.#tell('kvorum with idle partitions');
      ({ idle } = await measureIdle(directory));
    });
    return idle;
  }

  async #scenario(name: ScenarioName): Promise<void> {
    const scenario = scenarios[name];
    const seconds = scenario.seconds(this.#options);
    const progress = (text: string) => this.#tell(text);
    await this.#attempt(name, seconds, async (directory) => {
      this.#tell(`${name}: ${scenario.text}; about ${Math.ceil(seconds / 60)} min`);
      const found = await scenario.measure({ options: this.#options, directory, progress });
      this.#found.push(...found);
      for (const { text, measured = Number.NaN, unit, note } of found) {
        this.#tell(`${text}: ${round(measured)} ${unit}${note ? ` (${note})` : ''}`);
      }
    });
  }

  /**
   * Does what takes about `seconds`, when there is time for it, in a directory of its own. When it
   * fails, or takes several times as long, that is noted: in a run of hours it takes nothing from the
   * rest.
   */
  async #attempt(
    name: string,
    seconds: number,
    work: (directory: string) => Promise<void>,
  ): Promise<void> {
    if (!this.#isInTime(name, seconds)) return;
    const directory = join(this.#directory, name.replaceAll(/[^a-z0-9]+/g, '-'));
    mkdirSync(directory);
    const boundSeconds = LATE_TIMES * seconds + LATE_SECONDS;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      // all that is waited for are processes: what waits for them hears that they have ended
      killAll();
    }, boundSeconds * 1_000);
    try {
      await work(directory);
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error);
      const why = isLate ? `not over within ${Math.ceil(boundSeconds / 60)} min` : said;
      this.#leftOut.push(`${name} failed: ${why}`);
      this.#tell(`${name} FAILED: ${why}`);
    } finally {
      clearTimeout(timer);
      removeDirectory(directory);
    }
  }

  #isInTime(name: string, seconds: number): boolean {
    if (isInTime(this.#options, this.#seconds(), seconds)) return true;
    const why = `would take ${Math.ceil(seconds / 60)} min, and --minutes ${this.#options.minutes}`;
    this.#leftOut.push(`${name}: ${why}`);
    this.#tell(`${name} is left out: it ${why}`);
    return false;
  }

  #tell(text: string): void {
    this.#say(`${this.elapsed()}  ${text}`);
  }

  #seconds(): number {
    return (performance.now() - this.#beganMs) / 1_000;
  }
}
