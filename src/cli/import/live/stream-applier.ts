/** The stream of a source, command after command, into the namespaces of a cluster. */
import { KvorumError } from '../../../common/errors.ts';
import type { Client } from '../../../sdk/client.ts';
import { ClientError } from '../../../sdk/errors.ts';
import type { Namespaces } from '../importer.ts';
import type { Libraries } from '../libraries.ts';
import type { Report } from '../report.ts';
import type { Target } from '../target.ts';
import { copyBetween, runAcross } from './across.ts';
import { type CommandPlan, type Line, type PlacedLine, planOf } from './command-plan.ts';
import type { HeldDeadlines } from './held-deadlines.ts';
import { Lanes } from './lanes.ts';
import type { StreamCommand } from './stream-commands.ts';

/** Bytes of the stream up to the end of a command. */
interface Mark {
  readonly end: number;
  left: number;
}

type Step = { readonly plan: CommandPlan; readonly line: Line };

export class StreamApplier {
  readonly #target: Target;
  readonly #namespaces: Namespaces;
  readonly #report: Report;
  readonly #lanes: Lanes;
  readonly #deadlines: HeldDeadlines;
  readonly #libraries: Libraries;
  #database = 0;
  /** Of the database that is selected; undefined: its commands are left out. */
  #client: Client | undefined;
  #isSelected = false;
  /** Of a transaction that has not ended. */
  #queued: Step[] | undefined;
  readonly #marks: Mark[] = [];
  #applied = 0;

  constructor(
    target: Target,
    namespaces: Namespaces,
    report: Report,
    deadlines: HeldDeadlines,
    libraries: Libraries,
  ) {
    this.#libraries = libraries;
    this.#deadlines = deadlines;
    this.#target = target;
    this.#namespaces = namespaces;
    this.#report = report;
    this.#lanes = new Lanes(report);
  }

  /** Bytes of the stream of which all commands have taken effect. */
  get applied(): number {
    return this.#applied;
  }

  /** Resolves when the next may come. */
  async take({ args, end }: StreamCommand): Promise<void> {
    const mark: Mark = { end, left: 1 };
    this.#marks.push(mark);
    await this.#command(args, mark);
    this.#done(mark);
    if (!this.#lanes.hasRoom) await this.#lanes.room();
    this.#lanes.check();
  }

  /** Resolves when all has taken effect. */
  idle(): Promise<void> {
    return this.#lanes.idle();
  }

  async #command(given: Line, mark: Mark): Promise<void> {
    if (!this.#isSelected) await this.#select(this.#database);
    const client = this.#client;
    const namespace = this.#namespaces.of(this.#database);
    const line = namespace === undefined ? given : this.#deadlines.ofLine(namespace, given);
    const plan = planOf(line, (key) => client?.partitionOf(key) ?? 0);
    if (plan.kind === 'select') return this.#select(plan.database);
    if (plan.kind === 'stop') throw new KvorumError('BAD_ARGUMENT', `the source sent ${plan.why}`);
    if (plan.kind === 'flush' && plan.isAll) return this.#flushAll();
    if (plan.kind === 'multi') {
      this.#queued = [];
      return;
    }
    if (plan.kind === 'exec') {
      const queued = this.#queued ?? [];
      this.#queued = undefined;
      return this.#transaction(queued, mark);
    }
    if (plan.kind === 'function') return this.#function(line);
    if (plan.kind === 'ignore') return this.#report.add('ignoredCommands');
    if (client === undefined) return this.#report.add('otherDatabases');
    this.#report.add('commands');
    if (this.#queued !== undefined) this.#queued.push({ plan, line });
    else await this.#step({ plan, line }, mark);
  }

  /** Those of one partition take effect as one, also here. */
  async #transaction(queued: readonly Step[], mark: Mark): Promise<void> {
    const lines = queued.flatMap(({ plan }) => (plan.kind === 'lines' ? plan.lines : []));
    const partitions = new Set(lines.map(({ partition }) => partition));
    const isOne = partitions.size === 1 && queued.every(({ plan }) => plan.kind === 'lines');
    if (isOne) {
      const [partition = 0] = partitions;
      return this.#add(partition, lines, mark);
    }
    if (queued.length > 1) this.#report.add('splitTransactions');
    for (const step of queued) await this.#step(step, mark);
  }

  async #step({ plan, line }: Step, mark: Mark): Promise<void> {
    switch (plan.kind) {
      case 'lines':
        for (const one of plan.lines) this.#add(one.partition, [one], mark);
        return;
      case 'across':
        return this.#alone(line, (client) => runAcross(client, line, plan.keys));
      case 'between':
        return this.#alone(line, (client) => this.#between(client, plan));
      case 'flush':
        return this.#alone(line, async (client) => void (await client.call('FLUSHDB')));
      case 'refuse':
        return this.#lanes.refuse(line, plan.why);
      default:
        return;
    }
  }

  #add(partition: number, lines: readonly PlacedLine[], mark: Mark): void {
    mark.left++;
    const namespace = this.#namespaces.of(this.#database)!;
    this.#lanes.add(this.#client!, namespace, partition, {
      lines: lines.map(({ line }) => line),
      done: () => this.#done(mark),
    });
  }

  /** While nothing else is under way. */
  async #alone(line: Line, run: (client: Client) => Promise<void>): Promise<void> {
    await this.#lanes.idle();
    try {
      await run(this.#client!);
    } catch (failure) {
      if (!(failure instanceof ClientError) || failure.code === 'OUTCOME_UNKNOWN') throw failure;
      if (failure.retriable) throw failure;
      this.#lanes.refuse(line, failure.message);
    }
  }

  async #function(line: Line): Promise<void> {
    this.#report.add('commands');
    await this.#alone(line, () => this.#libraries.follow(line));
  }

  async #between(
    client: Client,
    { from, to, database, isCopy }: Extract<CommandPlan, { kind: 'between' }>,
  ): Promise<void> {
    const namespace = this.#namespaces.of(database);
    // what leaves for a database that nobody wants is gone
    if (namespace === undefined) return void (isCopy || (await client.del(from)));
    const other = await this.#target.client(namespace);
    await copyBetween({ client, key: from }, { client: other, key: to }, isCopy);
  }

  async #flushAll(): Promise<void> {
    await this.#lanes.idle();
    for (const client of await this.#target.clients()) await client.call('FLUSHDB');
  }

  async #select(database: number): Promise<void> {
    this.#database = database;
    const namespace = this.#namespaces.of(database);
    this.#client = namespace === undefined ? undefined : await this.#target.client(namespace);
    if (this.#client !== undefined) await this.#libraries.into(this.#client);
    this.#isSelected = true;
  }

  #done(mark: Mark): void {
    mark.left--;
    let count = 0;
    while (count < this.#marks.length && this.#marks[count]!.left === 0) count++;
    if (count === 0) return;
    this.#applied = this.#marks[count - 1]!.end;
    this.#marks.splice(0, count);
  }
}
