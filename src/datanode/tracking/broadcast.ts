/** Tells those who track by prefix: each prefix once of all that an answer brought, as Redis in a turn. */
import type { ChangedKeys } from '../partition/entries/changes.ts';
import type { ChangeFeed } from './change-feed.ts';
import { invalidation } from './invalidation.ts';
import type { TrackedClient } from './tracked-client.ts';

export function tellByPrefix(
  feed: ChangeFeed,
  changes: readonly ChangedKeys[],
  byPrefix: ReadonlyMap<string, ReadonlySet<TrackedClient>>,
  covers: (client: TrackedClient) => boolean,
): void {
  for (const [prefix, clients] of byPrefix) {
    const told = new Map<string, { readonly key: Buffer; readonly of: ChangedKeys[] }>();
    for (const change of changes) {
      for (const key of change.keys) {
        const name = key.toString('latin1');
        if (!name.startsWith(prefix)) continue;
        const known = told.get(name);
        if (known === undefined) told.set(name, { key, of: [change] });
        else known.of.push(change);
      }
    }
    if (told.size === 0) continue;
    const sorted = [...told].sort(([one], [other]) => (one < other ? -1 : 1));
    const toMost = invalidation(sorted.map(([, { key }]) => key));
    for (const client of clients) {
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
