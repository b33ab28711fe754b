/**
 * Who waits for which key, in order of arrival, in queues: those of one queue compete for what is added,
 * and each queue may have something of it. Of lists and sorted sets a key has one; of a stream one for
 * each group, since each group is given all of its entries.
 */
import type { BlockingForm } from '../../commands/rows/command.ts';

export type WaitedType = BlockingForm['type'];

export interface Queue<W> {
  readonly key: Buffer;
  /** Of a stream. */
  readonly group: Buffer | undefined;
  readonly waiters: ReadonlySet<W>;
  /** What of the stream, and of the group, an entry was to serve it for: nothing new came of that. */
  seen: string | undefined;
}

interface OpenQueue<W> extends Queue<W> {
  readonly waiters: Set<W>;
}

/** The name of a group, of those without any: ''. */
type Queues<W> = Map<string, OpenQueue<W>>;

const nameOf = (bytes: Buffer) => bytes.toString('latin1');

export class WaiterQueues<W extends { readonly form: BlockingForm }> {
  /** By key (latin1); apart by what is waited for: an entry is to look at those alone whom it may serve. */
  readonly #byKey: Readonly<Record<WaitedType, Map<string, Queues<W>>>> = {
    list: new Map(),
    zset: new Map(),
    stream: new Map(),
  };

  add(waiter: W): void {
    const { keys, type, group } = waiter.form;
    const byKey = this.#byKey[type];
    const name = group === undefined ? '' : nameOf(group);
    for (const key of keys) {
      const queues: Queues<W> = byKey.get(nameOf(key)) ?? new Map();
      const known = queues.get(name);
      const queue = known ?? { key, group, waiters: new Set(), seen: undefined };
      queue.waiters.add(waiter);
      if (known !== undefined) continue;
      queues.set(name, queue);
      byKey.set(nameOf(key), queues);
    }
  }

  /** The queues in which nobody is left. */
  delete(waiter: W): readonly Queue<W>[] {
    const { keys, type, group } = waiter.form;
    const byKey = this.#byKey[type];
    const name = group === undefined ? '' : nameOf(group);
    const empty: Queue<W>[] = [];
    for (const key of keys) {
      const queues = byKey.get(nameOf(key));
      const queue = queues?.get(name);
      if (queue?.waiters.delete(waiter) !== true || queue.waiters.size > 0) continue;
      empty.push(queue);
      queues!.delete(name);
      if (queues!.size === 0) byKey.delete(nameOf(key));
    }
    return empty;
  }

  /** Whatever for. */
  readonly has = (key: string): boolean => {
    const { list, zset, stream } = this.#byKey;
    return list.has(key) || zset.has(key) || stream.has(key);
  };

  /** Of all that is waited for. */
  readonly keys = (): string[] => {
    const { list, zset, stream } = this.#byKey;
    return [...list.keys(), ...zset.keys(), ...stream.keys()];
  };

  /** Those with waiters of groups. */
  get streams(): ReadonlyMap<string, unknown> {
    return this.#byKey.stream;
  }

  /** Of a type with one queue for a key. */
  one(type: 'list' | 'zset', key: string): ReadonlySet<W> | undefined {
    return this.#byKey[type].get(key)?.get('')?.waiters;
  }

  *waitersOf(key: string): Generator<ReadonlySet<W>, void, undefined> {
    for (const { waiters } of this.groups(key) ?? []) yield waiters;
  }

  /** Those of all groups of a stream. */
  groups(key: string): Iterable<Queue<W>> | undefined {
    return this.#byKey.stream.get(key)?.values();
  }
}
