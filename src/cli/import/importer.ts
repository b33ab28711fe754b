/** Events of RDB files to writers: which keys go where, which are left out, and all of it in bounds. */
import { KvorumError } from '../../common/errors.ts';
import { type Glob, matchesGlob } from '../../datanode/commands/texts/glob.ts';
import type { Client } from '../../sdk/client.ts';
import { Flight } from './flight.ts';
import { KeyWriter, type OnConflict } from './key-writer.ts';
import { LargeWriter } from './large-writer.ts';
import { Libraries, type OnLibrary } from './libraries.ts';
import { type KeyHead, keyText, type RdbEvent, RdbFileError } from './rdb/rdb-events.ts';
import type { FileWalk } from './rdb-file.ts';
import type { Report } from './report.ts';
import type { Target } from './target.ts';

export interface Choice {
  /** This database alone. */
  readonly database?: number | undefined;
  /** Where its keys go, or those of the only one there is; else `default`, `db1`, `db2` … */
  readonly namespace?: string | undefined;
  /** Keys that match alone. */
  readonly match?: Glob | undefined;
  readonly onConflict: OnConflict;
  readonly onLibrary: OnLibrary;
  /** Nothing is written: what is there already is counted. */
  readonly isDry: boolean;
  /** Namespaces are emptied before the first key comes. */
  readonly isAnew: boolean;
}

/** What is done with the deadline of a key; undefined: it has passed. */
export type Deadlines = (head: KeyHead, namespace: string) => KeyHead | undefined;

export const dropPassed: Deadlines = (head) =>
  head.deadlineMs !== undefined && head.deadlineMs <= Date.now() ? undefined : head;

export class Importer {
  readonly #target: Target;
  readonly #choice: Choice;
  readonly #report: Report;
  readonly #deadlines: Deadlines;
  readonly #flight = new Flight();
  readonly #namespaces: Namespaces;
  readonly #emptied = new Set<Client>();
  readonly #libraries: Libraries;
  #database = 0;
  /** Where keys of the present database go; undefined: nowhere yet, or nowhere at all. */
  #writer: KeyWriter | undefined;
  #large: LargeWriter | undefined;

  constructor(
    target: Target,
    choice: Choice,
    report: Report,
    namespaces = new Namespaces(choice),
    deadlines: Deadlines = dropPassed,
    libraries = new Libraries(choice.onLibrary, choice.isDry, report),
  ) {
    this.#target = target;
    this.#choice = choice;
    this.#report = report;
    this.#namespaces = namespaces;
    this.#deadlines = deadlines;
    this.#libraries = libraries;
  }

  /** Takes what `walk` comes upon; resolves when all is written. Of a file that is damaged what came before is. */
  async takeAll(walk: (take: FileWalk['take']) => Promise<void>): Promise<void> {
    try {
      await walk((event) => this.take(event));
    } catch (failure) {
      if (failure instanceof RdbFileError) await this.finish().catch(() => {});
      throw failure;
    }
    await this.finish();
  }

  /** Undefined: the next may come at once. */
  take(event: RdbEvent): Promise<void> | undefined {
    switch (event.kind) {
      case 'database':
        this.#writer?.flush();
        this.#writer = undefined;
        this.#database = event.database;
        return undefined;
      case 'library':
        return this.#libraries.add(event.name, event.code);
      case 'skipped':
        this.#report.warn(`${event.what} is left out: kvorum has nothing of the kind`);
        return undefined;
      case 'refused':
        this.#report.refuse(`the key ${keyText(event.head.key)}`, event.why);
        return undefined;
      case 'string':
      case 'whole':
        return this.#small(event);
      case 'large':
        return this.#beginLarge(event.head);
      case 'part':
        return this.#large?.add(event.part);
      case 'endOfLarge':
        return this.#endLarge(event.refused);
      default:
        return undefined;
    }
  }

  /** Resolves when all is written. */
  async finish(): Promise<void> {
    this.#writer?.flush();
    await this.#flight.idle();
    if (this.#libraries.isWaiting) await this.#openFor(this.#choice.database ?? 0);
  }

  #small(event: Extract<RdbEvent, { kind: 'string' | 'whole' }>): Promise<void> | undefined {
    const head = this.#wanted(event.head);
    if (head === undefined) return undefined;
    if (this.#writer === undefined) return this.#open().then(() => this.#small(event));
    if (this.#choice.isDry) return this.#look(head);
    if (event.kind === 'string') this.#writer.string(head, event.bytes);
    else this.#writer.whole(head, event.body);
    this.#flight.check();
    return this.#flight.hasRoom ? undefined : this.#flight.room();
  }

  async #beginLarge(given: KeyHead): Promise<void> {
    const head = this.#wanted(given);
    if (head === undefined) return;
    if (this.#writer === undefined) await this.#open();
    if (this.#choice.isDry) return this.#look(head);
    const client = await this.#target.client(this.#namespaces.of(this.#database)!);
    const large = new LargeWriter(client, this.#writer!, this.#report, head);
    await large.begin(this.#choice.onConflict === 'replace');
    this.#large = large;
  }

  async #endLarge(refused: string | undefined): Promise<void> {
    const large = this.#large;
    this.#large = undefined;
    await large?.end(refused);
  }

  async #open(): Promise<void> {
    const client = await this.#openFor(this.#database);
    this.#writer = new KeyWriter(client, this.#flight, this.#report, this.#choice.onConflict);
  }

  async #openFor(database: number): Promise<Client> {
    const client = await this.#target.client(this.#namespaces.of(database)!);
    const { isAnew, isDry } = this.#choice;
    if (isAnew && !isDry && !this.#emptied.has(client)) await client.call('FLUSHDB');
    this.#emptied.add(client);
    await this.#libraries.into(client);
    return client;
  }

  /** What a dry run does: it counts. */
  #look(head: KeyHead): Promise<void> | undefined {
    this.#flight.add(head.key.length, this.#exists(head));
    return this.#flight.hasRoom ? undefined : this.#flight.room();
  }

  async #exists({ key }: KeyHead): Promise<void> {
    const client = await this.#target.client(this.#namespaces.of(this.#database)!);
    const found = await client.exists(key);
    this.#report.add(found === 0 ? 'keys' : 'existed');
  }

  #wanted(head: KeyHead): KeyHead | undefined {
    const namespace = this.#namespaces.of(this.#database);
    const { match } = this.#choice;
    if (namespace === undefined) this.#report.add('otherDatabases');
    else if (match !== undefined && !matchesGlob(match, head.key)) this.#report.add('unmatched');
    else {
      const wanted = this.#deadlines(head, namespace);
      if (wanted === undefined) this.#report.add('expired');
      return wanted;
    }
    return undefined;
  }
}

/** Which database goes into which namespace. */
export class Namespaces {
  readonly #choice: Pick<Choice, 'database' | 'namespace'>;
  #only: number | undefined;

  constructor(choice: Pick<Choice, 'database' | 'namespace'>) {
    this.#choice = choice;
  }

  /** Undefined: nowhere. Throws BAD_ARGUMENT when keys of two would be mixed. */
  of(number: number): string | undefined {
    const { database, namespace } = this.#choice;
    if (database !== undefined && database !== number) return undefined;
    if (namespace === undefined) return number === 0 ? 'default' : `db${number}`;
    this.#only ??= number;
    if (this.#only === number) return namespace;
    throw new KvorumError(
      'BAD_ARGUMENT',
      `there are keys in the databases ${this.#only} and ${number}: with --namespace say which ` +
        'with --db, and run it once for each',
    );
  }
}
