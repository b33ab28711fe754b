/**
 * `kvorum meta restore`: the embedded metadata store of a placedriver that lost its disk, made anew
 * from what the datanodes keep of it.
 */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readChecked } from '../common/checked-file.ts';
import { systemClock } from '../common/clock.ts';
import { lockDataDir } from '../common/data-lock.ts';
import { KvorumError, messageOf } from '../common/errors.ts';
import { fsDisk } from '../common/fs-disk.ts';
import { silentLogger } from '../common/log.ts';
import { systemRandom } from '../common/random.ts';
import { type ClusterImage, IMAGE_VERSION } from '../datanode/coordinator/cluster-view.ts';
import { type LostStore, restoreStore } from '../meta/embedded/restore.ts';
import { encodeRecord, keys } from '../meta/schema.ts';
import { placedriverConfigSchema } from '../placedriver/config.ts';
import { loadConfig } from './config-file.ts';
import { localSockets } from './local-sockets.ts';
import { birthOf, isAlive } from './run-file.ts';

export interface RestoreFlags {
  readonly config: string;
  readonly from: readonly string[];
}

/** The newest of the tables is taken: the others are earlier pages of the same history. */
export async function metaRestore({ config: path, from }: RestoreFlags): Promise<void> {
  const config = loadConfig(path, placedriverConfigSchema);
  if (config.meta.embedded === undefined) {
    throw new KvorumError(
      'BAD_CONFIG',
      `${path}: its metadata is in ${config.meta.endpoints?.join(', ')}; restore that etcd from ` +
        'its own backup (etcdctl snapshot restore), or give this placedriver meta.embedded',
    );
  }
  const found = await Promise.all(from.map(readKept));
  const newest = found.reduce((a, b) => (b.image.store.revision > a.image.store.revision ? b : a));
  const lost = lostStoreOf(newest.image);
  const dataDir = config['data-dir'];
  const dir = join(dataDir, 'meta');
  const world = { disk: fsDisk, clock: systemClock, random: systemRandom(), logger: silentLogger };
  const own = { processId: process.pid, isAlive, birthOf, sockets: localSockets(silentLogger) };
  const lock = await lockDataDir({ ...world, ...own }, dataDir);
  try {
    await restoreStore({ ...world, dir }, lost);
  } finally {
    await lock.release();
  }
  const say = (line: string) => process.stdout.write(`${line}\n`);
  for (const { source, image } of found) say(`${source}: revision ${image.store.revision}`);
  say(`restored ${lost.items.length} records of ${newest.source} into ${dir}`);
  say(
    lost.id === undefined
      ? 'start the placedriver, then restart every datanode: they knew the old store by another id'
      : 'start the placedriver: the datanodes go on with it by themselves',
  );
}

type KeptImage = ClusterImage & Required<Pick<ClusterImage, 'store' | 'kept'>>;

interface Found {
  readonly source: string;
  readonly image: KeptImage;
}

/** A datanode's data directory, a copy of the file `table` in it. */
async function readKept(source: string): Promise<Found> {
  const bad = (why: string) => new KvorumError('BAD_CONFIG', `${source}: ${why}`);
  if (!existsSync(source)) throw bad('does not exist; name a datanode data-dir or its table file');
  const file = statSync(source).isDirectory() ? join(source, 'table') : source;
  const image = await readChecked<ClusterImage>(fsDisk, file, 'take that of another datanode');
  if (image === undefined) throw bad('holds no file `table`; name the data-dir of a datanode');
  const shape = z
    .looseObject({
      version: z.literal(IMAGE_VERSION),
      kept: z.record(z.string(), z.string()),
      store: z.object({ id: z.string().optional(), revision: z.number().int() }),
    })
    .safeParse(image);
  if (!shape.success) {
    throw bad(`is of another build (${messageOf(shape.error).slice(0, 200)}); take another`);
  }
  return { source, image: image as KeptImage };
}

/** As the store had it, but for what is under leases: that is registered anew. */
function lostStoreOf(image: KeptImage): LostStore {
  const records: (readonly [key: string, record: { readonly version: number }])[] = [
    ...image.namespaces.map((record) => [keys.namespace(record.name), record] as const),
    ...image.partitions.map(
      (record) => [keys.partition(record.namespace, record.partition), record] as const,
    ),
    ...image.leaders.map(
      (record) => [keys.leader(record.namespace, record.partition), record] as const,
    ),
    ...(image.users ?? []).map((record) => [keys.user(record.user), record] as const),
    ...(image.deletions ?? []).map((record) => [keys.deletion(record.firstGroup), record] as const),
    ...(image.settings ?? []).map((record) => [keys.setting(record.name), record] as const),
  ];
  const items = [
    ...records.map(([key, record]) => ({ key, value: encodeRecord(record) })),
    ...Object.entries(image.kept).map(([key, value]) => ({ key, value })),
  ];
  return { id: image.store.id, revision: image.store.revision, items };
}
