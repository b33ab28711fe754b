/**
 * State machine, disk and clock together: the embedded store without its sockets. A command changes
 * the state at once; it is answered, and watches hear of it, when it is durable. A read waits for
 * what it saw to be durable.
 */
import type { Clock } from '../../common/clock.ts';
import type { Disk } from '../../common/disk.ts';
import { codeOf, KvorumError, messageOf } from '../../common/errors.ts';
import type { Logger } from '../../common/log.ts';
import type { Random } from '../../common/random.ts';
import { type CommandName, commandNumbers, type LogRecord } from './format.ts';
import { Journal } from './journal.ts';
import { LeaseClock } from './lease-clock.ts';
import {
  compactRequestCodec,
  deleteRequestCodec,
  type Header,
  leaseGrantRequestCodec,
  leaseIdCodec,
  putRequestCodec,
  type RequestOp,
  type TxnRequest,
  txnRequestCodec,
} from './messages.ts';
import { emptyImage, StoreState } from './state.ts';
import { StateError } from './state-error.ts';

export interface LocalStoreOptions {
  readonly disk: Disk;
  readonly dir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: Random;
  /** Of the journal's. */
  readonly stallMs?: number;
  /** Called once, when the disk failed: everything is refused until the store is opened anew. */
  onFailure(error: KvorumError): void;
}

/** What each command does to the state; its payload is the request as it came over the wire. */
const commands = {
  put: (state: StoreState, payload: Buffer) => state.put(putRequestCodec.decode(payload)),
  delete: (state: StoreState, payload: Buffer) => state.delete(deleteRequestCodec.decode(payload)),
  transaction: (state: StoreState, payload: Buffer) =>
    state.transaction(txnRequestCodec.decode(payload)),
  compact: (state: StoreState, payload: Buffer) =>
    state.compact(compactRequestCodec.decode(payload)),
  grant: (state: StoreState, payload: Buffer) =>
    state.grantLease(leaseGrantRequestCodec.decode(payload)),
  revoke: (state: StoreState, payload: Buffer) =>
    state.revokeLease(leaseIdCodec.decode(payload).id),
} as const;

const commandOf = new Map<number, CommandName>(
  Object.entries(commandNumbers).map(([name, number]) => [number, name as CommandName]),
);

/**
 * What is logged was accepted, when history reached further back: now it begins at the snapshot.
 * So nothing is read of the past, and a compaction of what is not there any more changes nothing.
 */
function replay(state: StoreState, { command, payload }: LogRecord): void {
  const name = commandOf.get(command);
  if (name === undefined) {
    throw new KvorumError('CORRUPT', `metadata log: unknown command ${command}; upgrade kvorum`);
  }
  if (name === 'transaction') {
    state.transaction(withoutReads(txnRequestCodec.decode(payload)));
    return;
  }
  try {
    commands[name](state, payload);
  } catch (error) {
    if (name !== 'compact' || !isCompacted(error)) throw error;
  }
}

function withoutReads({ compare, success, failure }: TxnRequest): TxnRequest {
  const writes = (operations: readonly RequestOp[]) =>
    operations.flatMap(({ put, delete: removal }) =>
      put || removal ? [{ put, delete: removal }] : [],
    );
  return { compare, success: writes(success), failure: writes(failure) };
}

function isCompacted(error: unknown): boolean {
  return error instanceof StateError && error.refusal === 'compacted';
}

export class LocalStore {
  readonly state: StoreState;
  readonly leases: LeaseClock;
  readonly #journal: Journal;
  readonly #logger: Logger;
  readonly #listeners = new Set<() => void>();
  #durableRevision: number;

  private constructor(state: StoreState, journal: Journal, options: LocalStoreOptions) {
    this.state = state;
    this.#journal = journal;
    this.#logger = options.logger;
    this.#durableRevision = state.revision;
    this.leases = new LeaseClock(options.clock, (id) => this.#expire(id));
    for (const { id, ttlSeconds } of state.leases.values()) this.leases.start(id, ttlSeconds * 1e3);
  }

  /** Recovers from disk. Throws CORRUPT naming file and offset. */
  static async open(options: LocalStoreOptions): Promise<LocalStore> {
    const { random } = options;
    const fresh = () => emptyImage(random.u32() * 2 ** 16 + random.below(2 ** 16) + 1);
    const holder: { state?: StoreState } = {};
    const { journal, image, records } = await Journal.open({
      ...options,
      onFailure: (error) => options.onFailure(error),
      fresh,
      image: () => {
        if (holder.state === undefined) throw new Error('no state yet');
        return holder.state.image();
      },
    });
    const state = new StoreState(image);
    holder.state = state;
    for (const [at, record] of records.entries()) {
      try {
        replay(state, record);
      } catch (failure) {
        const what = `record ${at + 1} of ${records.length} cannot be replayed`;
        const refusal = await journal.refuse(`${what} (${messageOf(failure)})`, failure);
        throw codeOf(failure) === 'CORRUPT' ? failure : refusal;
      }
    }
    return new LocalStore(state, journal, options);
  }

  /** Events up to here may be shown. */
  get durableRevision(): number {
    return this.#durableRevision;
  }

  /**
   * Of an answer that waits for nothing. A revision that a crash may take back must not be told:
   * whoever knew it would take the store that comes back for another.
   */
  durableHeader(): Header {
    return this.#headerOf(this.#durableRevision);
  }

  /** Runs a command; resolves with the result and header of its revision once it is durable. */
  async execute<N extends CommandName>(
    name: N,
    payload: Buffer,
  ): Promise<{
    readonly result: ReturnType<(typeof commands)[N]>;
    readonly header: Header;
  }> {
    this.#journal.admit();
    const before = this.state.revision;
    const result = commands[name](this.state, payload) as ReturnType<(typeof commands)[N]>;
    const header = this.#headerOf(this.state.revision);
    const always = name === 'grant' || name === 'revoke' || name === 'compact';
    if (always || header.revision !== before) {
      this.#journal.append({ command: commandNumbers[name], payload });
    }
    await this.#settled(header.revision);
    return { result, header };
  }

  /** Runs a read; resolves once what it saw is durable. Rejects with BUSY when too many wait for that. */
  async read<T>(run: (state: StoreState) => T): Promise<{ result: T; header: Header }> {
    this.#journal.admitRead();
    const result = run(this.state);
    const header = this.#headerOf(this.state.revision);
    await this.#settled(header.revision);
    return { result, header };
  }

  /** Calls `listener` after the durable revision has grown. */
  onDurable(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.leases.close();
    await this.#journal.close();
  }

  #headerOf(revision: number): Header {
    const { clusterId } = this.state;
    return { clusterId, memberId: clusterId, revision, raftTerm: 1 };
  }

  async #settled(revision: number): Promise<void> {
    await this.#journal.durable();
    if (revision <= this.#durableRevision) return;
    this.#durableRevision = revision;
    for (const listener of [...this.#listeners]) listener();
  }

  #expire(id: number): void {
    this.#logger.info('lease expired', { lease: id.toString(16) });
    this.execute('revoke', leaseIdCodec.encode({ id })).catch((error: unknown) => {
      // told once by onFailure, and nothing is removed any more
      if (codeOf(error) === 'DISK_FAILED') return;
      this.#logger.warn(`lease ${id.toString(16)} could not be removed: ${messageOf(error)}`);
      if (this.state.leases.has(id)) this.leases.tellAgain(id, 1_000);
    });
  }
}
