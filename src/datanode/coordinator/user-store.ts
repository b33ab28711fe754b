/** The users of the Redis doors in the metadata store: one record each, changed by compare-and-put. */
import { KvorumError } from '../../common/errors.ts';
import { decodeRecord, recordKinds } from '../../meta/records.ts';
import { encodeRecord, keys, SCHEMA_VERSION, type UserRecord } from '../../meta/schema.ts';
import type { MetaStore } from '../../meta/store.ts';

/** `rules` undefined: there is no such user, or shall be none. */
export type UserEdit = { readonly rules: string | undefined } | { readonly refusal: string };

function encodeUser(user: string, rules: string): string {
  const record: UserRecord = { version: SCHEMA_VERSION, user, rules };
  return encodeRecord(record);
}

/** How often another writer may come first. */
const ATTEMPTS_MAX = 8;

export class MetaUserStore {
  readonly #store: MetaStore;

  constructor(store: MetaStore) {
    this.#store = store;
  }

  /**
   * Replaces a user's rules by what `change` makes of those stored; resolves with that once the store
   * has it. Rejects with STORE_UNAVAILABLE when the store is away: it may then still take effect.
   */
  async edit(user: string, change: (rules: string | undefined) => UserEdit): Promise<UserEdit> {
    const key = keys.user(user);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const known = await this.#store.get(key);
      const edit = change(known && decodeRecord(recordKinds.user, key, known.value).rules);
      if ('refusal' in edit) return edit;
      const { rules } = edit;
      const { succeeded } = await this.#store.transaction(
        [{ key, modRevision: known?.modRevision ?? 0 }],
        rules === undefined
          ? [{ type: 'delete', key }]
          : [{ type: 'put', key, value: encodeUser(user, rules) }],
      );
      if (succeeded) return edit;
    }
    throw new KvorumError('STORE_UNAVAILABLE', 'others change this user all the time');
  }
}
