/** Users kept in memory, as one store for several nodes. */
import type { Access, UserEdit, UserStore } from '../../../src/datanode/acl/access.ts';

type Listener = Pick<Access, 'setUsers'>;

export class MemoryUsers implements UserStore {
  readonly rules = new Map<string, string>();
  readonly #listeners = new Set<Listener>();
  failure: Error | undefined;

  /** Tells the users there are, now and after every change. */
  follow(listener: Listener): void {
    this.#listeners.add(listener);
    listener.setUsers(this.#stored());
  }

  async edit(name: string, change: (rules: string | undefined) => UserEdit): Promise<UserEdit> {
    if (this.failure) throw this.failure;
    const edit = change(this.rules.get(name));
    if ('refusal' in edit) return edit;
    if (edit.rules === undefined) this.rules.delete(name);
    else this.rules.set(name, edit.rules);
    for (const listener of this.#listeners) listener.setUsers(this.#stored());
    return edit;
  }

  #stored() {
    return [...this.rules].map(([user, rules]) => ({ user, rules }));
  }
}
