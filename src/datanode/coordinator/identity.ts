/**
 * Who this data directory is (decision 18): an empty one becomes a new incarnation of the node's
 * name, which the metadata store accepts only while no other incarnation of it lives.
 */

import { readChecked, writeChecked } from '../../common/checked-file.ts';
import type { Disk } from '../../common/disk.ts';
import { KvorumError } from '../../common/errors.ts';
import type { Incarnation, NodeId } from '../../common/ids.ts';
import type { Random } from '../../common/random.ts';
import { decodeRecord, recordKinds } from '../../meta/records.ts';
import { encodeRecord, type IncarnationRecord, keys, SCHEMA_VERSION } from '../../meta/schema.ts';
import type { MetaStore } from '../../meta/store.ts';

export interface Identity {
  readonly version: number;
  readonly clusterId: string;
  readonly node: NodeId;
  readonly incarnation: Incarnation;
}

/** The identity saved in `dataDir`; undefined for a new directory. */
export async function loadIdentity(
  disk: Disk,
  dataDir: string,
  node: NodeId,
): Promise<Identity | undefined> {
  const path = `${dataDir}/identity`;
  const remedy = 'move the directory away: the node comes back empty, as a new incarnation';
  const identity = await readChecked<Identity>(disk, path, remedy);
  if (identity === undefined) return undefined;
  if (identity.version > SCHEMA_VERSION) {
    throw new KvorumError('BAD_CONFIG', `${path}: written by a newer version; upgrade kvorum`);
  }
  if (identity.node !== node) {
    throw new KvorumError(
      'BAD_CONFIG',
      `${path}: belongs to node ${identity.node}, not ${node}; give each node its own data-dir`,
    );
  }
  return identity;
}

/**
 * Makes a new incarnation and registers it by compare-and-put. Throws CONFLICT while another
 * incarnation of the name is alive, STORE_UNAVAILABLE when the cluster has not been made yet.
 */
export async function createIdentity(
  store: MetaStore,
  disk: Disk,
  dataDir: string,
  node: NodeId,
  random: Random,
): Promise<Identity> {
  const cluster = await store.get(keys.cluster);
  if (cluster === undefined) {
    throw new KvorumError('STORE_UNAVAILABLE', 'no placedriver has made the cluster yet');
  }
  const { clusterId } = decodeRecord(recordKinds.cluster, cluster.key, cluster.value);
  const incarnation: Incarnation = random.hex(8);
  const alive = await store.get(keys.node(node));
  if (alive !== undefined) {
    const record = decodeRecord(recordKinds.node, alive.key, alive.value);
    throw new KvorumError(
      'CONFLICT',
      `node ${node} is alive as incarnation ${record.incarnation} at ${record.host}; ` +
        'stop it, wait for its lease to end, or choose another name',
    );
  }
  await register(store, node, incarnation);
  const identity = { version: SCHEMA_VERSION, clusterId, node, incarnation };
  await disk.makeDir(dataDir);
  await writeChecked(disk, `${dataDir}/identity`, identity);
  return identity;
}

async function register(store: MetaStore, node: NodeId, incarnation: Incarnation): Promise<void> {
  const key = keys.incarnation(node);
  const known = await store.get(key);
  const record: IncarnationRecord = { version: SCHEMA_VERSION, node, incarnation };
  const { succeeded } = await store.transaction(
    [
      { key, modRevision: known?.modRevision ?? 0 },
      { key: keys.node(node), modRevision: 0 },
    ],
    [{ type: 'put', key, value: encodeRecord(record) }],
  );
  if (!succeeded) {
    throw new KvorumError('CONFLICT', `another node registered the name ${node} meanwhile`);
  }
}
