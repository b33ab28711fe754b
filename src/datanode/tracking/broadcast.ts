/** Tells those who track by prefix: each prefix once of all that an answer brought, as Redis in a turn. */
import type { ChangedKeys } from '../partition/entries/changes.ts';
import type { ChangeFeed } from './change-feed.ts';
import { invalidation } from './invalidation.ts';
import type { PrefixTable } from './prefix-table.ts';
import type { TrackedClient } from './tracked-client.ts';

interface Told {
  readonly key: Buffer;
  readonly of: ChangedKeys[];
}

export function tellByPrefix(
  feed: ChangeFeed,
  changes: readonly ChangedKeys[],
  byPrefix: PrefixTable,
  covers: (client: TrackedClient) => boolean,
): void {
  for (const [prefix, told] of sortOut(changes, byPrefix)) {
    const sorted = [...told].sort(([one], [other]) => (one < other ? -1 : 1));
    const toMost = invalidation(sorted.map(([, { key }]) => key));
    for (const client of byPrefix.clientsOf(prefix)) {
      if (!covers(client)) continue;
      if (!client.noLoop && !client.underWay.has(feed)) {
        client.deliver(toMost);
        continue;
      }
      const its = sorted.filter(([name, { of }]) =>
        // every change is to be noted
        of.map((change) => client.isToldNow(feed, name, change)).includes(true),
      );
      if (its.length > 0) client.tell(its.map(([, { key }]) => key));
    }
  }
}

/** Names by their prefixes. */
function sortOut(
  changes: readonly ChangedKeys[],
  byPrefix: PrefixTable,
): Map<string, Map<string, Told>> {
  const all = new Map<string, Map<string, Told>>();
  for (const change of changes) {
    for (const key of change.keys) {
      const name = key.toString('latin1');
      for (const prefix of byPrefix.of(name)) {
        const told = all.get(prefix) ?? new Map<string, Told>();
        all.set(prefix, told);
        const known = told.get(name);
        if (known === undefined) told.set(name, { key, of: [change] });
        else known.of.push(change);
      }
    }
  }
  return all;
}
