/** Placedrivers are kept from mastership. */
import { KvorumError } from '../../common/errors.ts';
import type { NodeId } from '../../common/ids.ts';
import { type BannedRecord, encodeRecord, keys, SCHEMA_VERSION } from '../../meta/schema.ts';
import type { Compare, MetaItem, MetaOperation } from '../../meta/store.ts';
import type { MasterTerm } from '../term.ts';
import { attempt } from './attempt.ts';
import { thereAre } from './known-names.ts';
import type { Operator } from './operator.ts';

type PlacedriverRequests = Pick<Operator, 'banPlacedriver'>;

export function placedriverRequests(term: MasterTerm): PlacedriverRequests {
  return {
    banPlacedriver: (name, banned) => attempt(term, () => tryToBan(term, name, banned)),
  };
}

/** False: what it was decided on changed meanwhile. */
async function tryToBan(term: MasterTerm, name: NodeId, banned: boolean): Promise<boolean> {
  const { store, clock, logger, fence } = term;
  const key = keys.ban(name);
  const bans = (await store.range(keys.banned)).items;
  const own = bans.find((ban) => ban.key === key);
  if (own === undefined && !banned) {
    const known = bans.map((ban) => ban.key.slice(keys.banned.length));
    const text = `placedriver ${name} is not banned; of those that are, ${thereAre(known)}`;
    throw new KvorumError('NOT_FOUND', text);
  }
  if (own !== undefined && banned) return true;
  const unchanged: Compare = { key, modRevision: own?.modRevision ?? 0 };
  const heir = banned ? heirOf(name, (await store.range(keys.placedrivers)).items, bans) : [];
  const record: BannedRecord = { version: SCHEMA_VERSION, name, sinceMs: clock.wallMs() };
  const operation: MetaOperation = banned
    ? { type: 'put', key, value: encodeRecord(record) }
    : { type: 'delete', key };
  const { succeeded } = await store.transaction([fence, unchanged, ...heir], [operation]);
  if (succeeded) logger.info(banned ? 'placedriver banned' : 'ban lifted', { placedriver: name });
  return succeeded;
}

/** What must hold so that another one can be master: it lives, and is not banned meanwhile. */
function heirOf(
  name: NodeId,
  living: readonly MetaItem[],
  bans: readonly MetaItem[],
): readonly Compare[] {
  if (!living.some(({ key }) => key === keys.placedriver(name))) {
    const known = thereAre(living.map(({ key }) => key.slice(keys.placedrivers.length)));
    throw new KvorumError('NOT_FOUND', `no placedriver ${name} is alive; ${known}`);
  }
  const banned = new Set(bans.map(({ key }) => key));
  for (const { key, modRevision } of living) {
    const other = key.slice(keys.placedrivers.length);
    if (other === name || banned.has(keys.ban(other))) continue;
    return [
      { key, modRevision },
      { key: keys.ban(other), modRevision: 0 },
    ];
  }
  const text = `${name} is the last placedriver that may be master: start another one first`;
  throw new KvorumError('CONFLICT', text);
}
