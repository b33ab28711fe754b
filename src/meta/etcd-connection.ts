/** What the parts of the etcd adapter share: the connection, and how keys look on the wire. */
import type { Etcd3, IKeyValue } from 'etcd3';
import type { Clock } from '../common/clock.ts';
import type { Logger } from '../common/log.ts';
import type { Random } from '../common/random.ts';
import type { MetaItem } from './store.ts';

/** What watch and lease need of the connection. */
export interface EtcdConnection {
  readonly client: Etcd3;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly timeoutMs: number;
  /** Runs a call under the deadline; failures become STORE_UNAVAILABLE or LEASE_LOST. */
  call<T>(what: string, run: (options: { deadline: number }) => Promise<T>): Promise<T>;
}

export function itemOf({ key, value, create_revision, mod_revision }: IKeyValue): MetaItem {
  return {
    key: key.toString(),
    value: value.toString(),
    createRevision: Number(create_revision),
    modRevision: Number(mod_revision),
  };
}

/** The first key after all that begin with `prefix`; prefixes here end in plain ASCII. */
export function endOf(prefix: string): Buffer {
  const end = Buffer.from(prefix);
  end[end.length - 1]! += 1;
  return end;
}
