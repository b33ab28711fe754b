/**
 * An embedded store made anew from records that others kept, after the disk of its holder is lost.
 * It takes the old store's id, and revisions and ids that lie beyond all that the old one can have
 * given out since: whoever knew the old store goes on with this one, and nothing is given out twice.
 */
import type { Clock } from '../../common/clock.ts';
import type { Disk } from '../../common/disk.ts';
import { KvorumError } from '../../common/errors.ts';
import type { Revision } from '../../common/ids.ts';
import type { Logger } from '../../common/log.ts';
import type { Random } from '../../common/random.ts';
import { decodeRecord, recordKinds } from '../records.ts';
import { type CountersRecord, encodeRecord, keys } from '../schema.ts';
import { Journal } from './journal.ts';
import type { KeyValue } from './messages.ts';
import { emptyImage, type StateImage } from './state.ts';

export interface LostStore {
  /** Its etcd cluster id, when somebody remembers it; otherwise every process must be restarted. */
  readonly id: string | undefined;
  /** The highest revision that anybody saw. */
  readonly revision: Revision;
  readonly items: readonly { readonly key: string; readonly value: string }[];
}

/** More than a store gives out in the moments that nobody kept. */
export const RESTORE_LEAP = 1_000_000;

/**
 * Writes the store into `dir`. Throws BAD_CONFIG when there is one already, or when `lost` holds no
 * cluster; BAD_RECORD when its counters cannot be read.
 */
export async function restoreStore(
  options: {
    readonly disk: Disk;
    readonly clock: Clock;
    readonly random: Random;
    readonly logger: Logger;
    readonly dir: string;
  },
  lost: LostStore,
): Promise<void> {
  const { disk, dir } = options;
  if ((await disk.exists(dir)) && (await disk.list(dir)).length > 0) {
    const remedy = 'start the placedriver on it, or move it away first';
    throw new KvorumError('BAD_CONFIG', `${dir} holds a metadata store already; ${remedy}`);
  }
  const image = restoredImage(lost, options.random);
  const { journal } = await Journal.open({
    ...options,
    fresh: () => image,
    image: () => image,
    // the opening has written all there is, or failed
    onFailure: () => {},
  });
  await journal.close();
}

function restoredImage(lost: LostStore, random: Random): StateImage {
  if (!lost.items.some(({ key }) => key === keys.cluster)) {
    throw new KvorumError(
      'BAD_CONFIG',
      `what was kept has no ${keys.cluster}: an older build kept it, or it is no cluster's table`,
    );
  }
  const id = Number(lost.id);
  const fresh = emptyImage(Number.isSafeInteger(id) && id > 0 ? id : 1 + random.u32());
  const revision = lost.revision + RESTORE_LEAP;
  const items = lost.items.map((item) => restoredItem(item, revision));
  // The lease ids of the old store begin at the same place: these lie beyond them.
  const nextLease = fresh.nextLease + RESTORE_LEAP / 2;
  return { ...fresh, revision, compactRevision: revision, nextLease, items };
}

function restoredItem({ key, value }: { key: string; value: string }, revision: number): KeyValue {
  return {
    key: Buffer.from(key),
    createRevision: revision,
    modRevision: revision,
    version: 1,
    value: Buffer.from(key === keys.counters ? leap(key, value) : value),
    lease: 0,
  };
}

/** Ids that the old store gave out after the last look at it must not be given out again. */
function leap(key: string, value: string): string {
  const counters = decodeRecord(recordKinds.counters, key, value);
  const nextGroup = counters.nextGroup + RESTORE_LEAP;
  const nextReplica = counters.nextReplica + RESTORE_LEAP;
  const leapt: CountersRecord = { ...counters, nextGroup, nextReplica };
  return encodeRecord(leapt);
}
