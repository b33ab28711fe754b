/** What an import has done and left, for its last lines and its exit code. */
import { say, sayJson } from '../admin/print.ts';

/** Of each kind of trouble, what is told by name. */
const NAMED_MAX = 20;

export type Count =
  | 'keys'
  | 'expired'
  | 'existed'
  | 'otherDatabases'
  | 'unmatched'
  | 'libraries'
  | 'keptLibraries'
  | 'commands'
  | 'splitTransactions'
  | 'ignoredCommands';

export class Report {
  readonly #counts = new Map<Count, number>();
  readonly #refused: string[] = [];
  readonly #warnings = new Set<string>();
  readonly #warn: (text: string) => void;
  refused = 0;
  /** How many of these are libraries of functions. */
  refusedLibraries = 0;

  /** `warn` is told at once what was left out, by name. */
  constructor(warn: (text: string) => void) {
    this.#warn = warn;
  }

  get(count: Count): number {
    return this.#counts.get(count) ?? 0;
  }

  add(count: Count, by = 1): void {
    this.#counts.set(count, this.get(count) + by);
  }

  /** Something that is not there now though the source has it. */
  refuse(what: string, why: string): void {
    this.refused++;
    if (this.#refused.length >= NAMED_MAX) return;
    const text = `${what}: ${why}`;
    this.#refused.push(text);
    this.#warn(`left out ${text}`);
  }

  /** Once for each text. */
  warn(text: string): void {
    if (this.#warnings.has(text) || this.#warnings.size === NAMED_MAX) return;
    this.#warnings.add(text);
    this.#warn(text);
  }

  /** Takes over what another has counted; its troubles were told. */
  join(other: Report): void {
    for (const [name, count] of other.#counts) this.add(name, count);
    this.refused += other.refused;
    this.refusedLibraries += other.refusedLibraries;
    this.#refused.push(...other.#refused.slice(0, NAMED_MAX - this.#refused.length));
    for (const text of other.#warnings) this.#warnings.add(text);
  }

  /** 0: all is there; 2: something was left out. */
  get exitCode(): number {
    return this.refused > 0 ? 2 : 0;
  }

  tell(json: boolean | undefined, more: Readonly<Record<string, unknown>>): void {
    const counts = Object.fromEntries(this.#counts);
    if (json) {
      const { refused } = this;
      return sayJson({
        ...counts,
        refused,
        named: this.#refused,
        warnings: [...this.#warnings],
        ...more,
      });
    }
    const parts = [...this.#counts].flatMap(([name, count]) =>
      count > 0 && name !== 'keys' ? [`${count} ${words[name]}`] : [],
    );
    say([`${this.get('keys')} keys`, ...parts, `${this.refused} left out for a fault`].join(', '));
  }
}

const words: Readonly<Record<Count, string>> = {
  keys: 'keys',
  expired: 'whose deadline had passed',
  existed: 'that were there already, and kept',
  otherDatabases: 'in other databases',
  unmatched: 'that do not match',
  libraries: 'libraries of functions',
  keptLibraries: 'libraries of functions that were there already, and kept',
  commands: 'commands of the source',
  splitTransactions: 'transactions over several partitions, applied in parts',
  ignoredCommands: 'commands that change no key',
};
