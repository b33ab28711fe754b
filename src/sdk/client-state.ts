/**
 * Where a client is in its life, and who is told: listeners, readers of changes, and
 * `node:diagnostics_channel`. It decides nothing about calls.
 */
import type { EventEmitter } from 'node:events';
import type { Address } from '../common/network.ts';
import { ChangeFeed, type ClientChange, tableChanges } from './changes.ts';
import type { ClientEvents, ClientStatus, NodeInfo } from './client-events.ts';
import type { PartitionTable } from './table.ts';
import { tellConnect, tellLookup } from './tracing.ts';

export class ClientState {
  readonly #emitter: EventEmitter<ClientEvents>;
  readonly #feed = new ChangeFeed();
  #status: ClientStatus = 'wait';
  #connected = false;
  #table: PartitionTable | undefined;

  constructor(emitter: EventEmitter<ClientEvents>) {
    this.#emitter = emitter;
  }

  get status(): ClientStatus {
    return this.#status;
  }

  get nodes(): readonly NodeInfo[] {
    const nodes = this.#table?.content.nodes ?? [];
    return nodes.map(({ name, host, port }) => ({ name, host, port }));
  }

  /** The present status and table, and what changes from the first step on. */
  changes(signal: AbortSignal | undefined): AsyncGenerator<ClientChange, void, undefined> {
    const first = (): readonly ClientChange[] => {
      const status = { kind: 'status', status: this.#status } as const;
      return [status, ...(this.#table === undefined ? [] : tableChanges(undefined, this.#table))];
    };
    return this.#feed.read(first, signal);
  }

  begun(): void {
    this.#enter('connecting');
  }

  onTable(table: PartitionTable): void {
    const { epoch, partitions } = table.content;
    tellLookup({ epoch, partitions: partitions.length });
    const changes = tableChanges(this.#table, table);
    this.#table = table;
    const isFirst = this.#status === 'connecting';
    if (isFirst) this.#status = 'ready';
    try {
      for (const change of changes) this.#tell(change);
    } finally {
      // a listener that throws keeps nobody from hearing of it
      if (isFirst && this.status === 'ready') this.#tellReady();
    }
  }

  #tellReady(): void {
    this.#tell({ kind: 'status', status: 'ready' });
    this.#emitter.emit('ready');
  }

  onLookupFailed(error: Error): void {
    tellLookup({ error });
    this.onError(error);
  }

  /** Nothing is thrown when nobody listens. */
  onError(error: Error): void {
    if (this.#emitter.listenerCount('error') > 0) this.#emitter.emit('error', error);
  }

  onConnected({ host, port }: Address): void {
    tellConnect({ host, port, state: 'connected' });
    this.#tell({ kind: 'connection', state: 'connected', host, port });
    if (this.#connected) return;
    this.#connected = true;
    if (this.#status === 'reconnecting') this.#enter('ready');
    this.#emitter.emit('connect');
  }

  onLost({ host, port }: Address, error: Error | undefined): void {
    tellConnect({ host, port, state: 'lost', error });
    if (this.#status === 'end') return;
    this.#tell({ kind: 'connection', state: 'lost', host, port, error });
    if (error !== undefined) this.onError(error);
  }

  onAllLost(): void {
    if (!this.#connected || this.#status === 'end') return;
    this.#connected = false;
    if (this.#status === 'ready') this.#enter('reconnecting');
    this.#emitter.emit('close');
    this.#emitter.emit('reconnecting');
  }

  /** False: it had ended before. */
  end(): boolean {
    if (this.#status === 'end') return false;
    this.#enter('end');
    this.#feed.end();
    return true;
  }

  #enter(status: ClientStatus): void {
    this.#status = status;
    this.#tell({ kind: 'status', status });
  }

  #tell(change: ClientChange): void {
    this.#feed.tell(change);
    this.#emitter.emit('change', change);
    if (change.kind !== 'node') return;
    this.#emitter.emit(change.state === 'added' ? '+node' : '-node', change.node);
  }
}
