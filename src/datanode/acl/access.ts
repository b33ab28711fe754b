/**
 * The users of the cluster as this node has them, and what they may. While it has no copy of them it
 * refuses everything: it never comes up open.
 */
import type { Clock } from '../../common/clock.ts';
import { sleep } from '../../common/clock.ts';
import { messageOf } from '../../common/errors.ts';
import type { Namespace } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { Random } from '../../common/random.ts';
import { clientLine } from '../commands/connection/client-line.ts';
import type { Command } from '../commands/rows/command.ts';
import type { Session } from '../commands/rows/node-context.ts';
import { resolveCommand } from '../commands/table/table.ts';
import type { AclLogEntry, AclView, SelectorView, UserView } from '../commands/users/acl-view.ts';
import { error, type Reply } from '../resp/reply.ts';
import { AclLog, type Refusal } from './acl-log.ts';
import { type Denial, denialOf, mayKeep, sortOptionDenied } from './permissions.ts';
import {
  changeUser,
  describeChannels,
  describeCommands,
  describeKeys,
  describeUser,
  hashPassword,
  isOpen,
  newUser,
  openUser,
  parseUser,
  type Selector,
  type User,
} from './user.ts';

/** A user as it is stored; `rules` is describeUser's text. */
export interface StoredUser {
  readonly user: string;
  readonly rules: string;
}

/** Where the cluster's users are kept; each call rejects when that is away. */
export interface UserStore {
  /** Replaces the rules of one user by what `change` makes of them, or nothing when that is a refusal. */
  edit(name: string, change: (rules: string | undefined) => UserEdit): Promise<UserEdit>;
}

/** `rules` undefined: the user is deleted. */
export type UserEdit = { readonly rules: string | undefined } | { readonly refusal: string };

export interface AccessWorld {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: UserStore;
  sessions(): readonly Session[];
  /** How many refusals are kept to be shown. */
  logEntriesMax(): number;
}

const UNKNOWN_USERS = error(
  'LOADING this node has no copy of the users yet, and serves nobody without one',
);
/** `context`: where it was refused, unless the session tells. */
type Noted = Omit<Refusal, 'client' | 'context'> & Partial<Pick<Refusal, 'context'>>;

const RULES_CHANGED =
  'ACLs rules changed between the moment the transaction was accumulated and the EXEC call. ' +
  'This command is no longer allowed for the following reason:';
const execReasons: Readonly<Record<Denial['reason'], string>> = {
  command: 'no permission to execute the command or subcommand',
  key: 'no permission to touch the specified keys',
  channel: 'no permission to access one of the channels used as arguments',
};
const NO_AUTH = error('NOAUTH Authentication required.');
/** The store has told a change to its writer; its watch tells it to this node, or never will soon. */
const SEEN_WAIT_MS = 2_000;
const SEEN_POLL_MS = 2;

export class Access implements AclView {
  readonly #world: AccessWorld;
  readonly #log: AclLog;
  /** Whose commands are changing users just now: they end with their reply, if they do. */
  readonly #changing = new Set<Session>();
  /** Waits for an element, of connections that were closed. */
  readonly #waits = new Set<Promise<unknown>>();
  #users: ReadonlyMap<string, User> | undefined;

  constructor(world: AccessWorld) {
    this.#world = world;
    this.#log = new AclLog(() => world.logEntriesMax());
  }

  /**
   * All users there are. Closed are the connections of those that are gone, that have subscribed
   * to what their user may hear no more, and that are in a namespace where it may not be.
   */
  setUsers(stored: readonly StoredUser[]): void {
    const users = new Map<string, User>([['default', openUser]]);
    for (const { user, rules } of stored) {
      // rules that nobody can read give no rights, whatever they were meant to
      users.set(user, parseUser(user, rules) ?? newUser(user));
    }
    this.#users = users;
    for (const session of this.#world.sessions()) {
      if (session.user === '' || mayStay(session, users.get(session.user))) continue;
      if (this.#changing.has(session)) session.closeAfterReply();
      else this.#kill(session);
    }
  }

  #kill(session: Session): void {
    session.kill();
    const wait = session.blocked?.end('gone');
    if (wait === undefined) return;
    this.#waits.add(wait);
    void wait.finally(() => this.#waits.delete(wait));
  }

  /** The one guard: what the session is answered instead of the command's reply. */
  refusalOf(session: Session, command: Command, args: readonly Buffer[]): Reply | undefined {
    if (this.#users === undefined) return UNKNOWN_USERS;
    if (!this.isAuthenticated(session)) {
      return command.flags.includes('no_auth') ? undefined : NO_AUTH;
    }
    const user = this.#users.get(session.user);
    if (user === openUser) return undefined;
    const denial = user ? denialOf(user, command, args) : noRights(command);
    if (denial === undefined) {
      // of a command that is queued EXEC says it, as in Redis
      return isInTransaction(session) ? undefined : user && sortRefusal(user, command, args);
    }
    this.#note(session, { ...denial, user: session.user }, command.name);
    return error(`NOPERM ${refusalText(denial)}`);
  }

  get isOpen(): boolean {
    const user = this.#users?.get('default');
    return user !== undefined && isOpen(user);
  }

  /** What the session may do now: the same object as long as that is so, undefined when nobody knows. */
  rightsOf(session: Session): object | undefined {
    return this.#users?.get(session.user);
  }

  /** What a command that was queued is answered when its user may not run it any more. */
  execRefusalOf(session: Session, args: readonly Buffer[]): Reply | undefined {
    const user = this.#users?.get(session.user);
    if (user === openUser) return undefined;
    const command = resolveCommand(args)!;
    const denial = user ? denialOf(user, command, args) : noRights(command);
    if (denial === undefined) return user && sortRefusal(user, command, args);
    this.#note(session, { ...denial, user: session.user, context: 'multi' });
    return error(`NOPERM ${RULES_CHANGED} ${execReasons[denial.reason]}`);
  }

  isAuthenticated(session: Session): boolean {
    if (session.user === '') this.#becomeByCertificate(session);
    if (session.user === '' && this.isOpen) become(session, this.#users!.get('default')!);
    return session.user !== '';
  }

  /** As Redis's tls-auth-clients-user: a password would be one thing more to steal. */
  #becomeByCertificate(session: Session): void {
    const { certificateUser } = session;
    if (certificateUser === undefined) return;
    const user = this.#users?.get(certificateUser);
    if (user?.enabled) become(session, user);
  }

  /** It has said who it is, or this node cannot judge that yet. */
  mayBeKnown(session: Session): boolean {
    return this.#users === undefined || this.isAuthenticated(session);
  }

  maySelect(session: Session, namespace: Namespace): boolean {
    const bound = this.#users?.get(session.user)?.namespace;
    if (bound === undefined || bound === namespace) return true;
    this.#note(session, { reason: 'namespace', object: namespace, user: session.user });
    return false;
  }

  hasUser(name: string): boolean {
    return this.#users?.has(name) === true;
  }

  authenticate(session: Session, name: string, password: Buffer, command: string): boolean {
    const user = this.#users?.get(name);
    const fits = user && (user.noPassword || user.passwords.includes(hashPassword(password)));
    if (user?.enabled && fits) {
      become(session, user);
      return true;
    }
    const shownName = name.slice(0, limits.aclNameMax);
    this.#note(session, { reason: 'auth', object: command, user: shownName });
    return false;
  }

  forget(session: Session): void {
    session.user = '';
    session.namespace = 'default';
    this.isAuthenticated(session);
  }

  userNames(): readonly string[] {
    return [...(this.#users?.keys() ?? [])].sort();
  }

  list(): readonly string[] {
    return this.userNames().map((name) => `user ${name} ${describeUser(this.#users!.get(name)!)}`);
  }

  user(name: string): UserView | undefined {
    const user = this.#users?.get(name);
    if (user === undefined) return undefined;
    return {
      flags: [user.enabled ? 'on' : 'off', ...(user.noPassword ? ['nopass'] : [])],
      passwords: user.passwords,
      namespace: user.namespace,
      ...selectorView(user.root),
      selectors: user.selectors.map(selectorView),
    };
  }

  async setUser(name: string, rules: readonly string[], by: Session): Promise<string | undefined> {
    const problem = nameProblem(name);
    if (problem !== undefined) return problem;
    if (!this.hasUser(name) && this.userNames().length >= limits.aclUsersMax) {
      return `ERR there are ${limits.aclUsersMax} users already; delete some`;
    }
    return this.#edit(name, by, (stored) => changedRules(name, stored, rules));
  }

  async deleteUsers(names: readonly string[], by: Session): Promise<number | string> {
    if (names.includes('default')) return "ERR The 'default' user cannot be removed";
    let deleted = 0;
    for (const name of new Set(names)) {
      if (!this.hasUser(name)) continue;
      const problem = await this.#edit(name, by, () => ({ rules: undefined }));
      if (problem !== undefined) return problem;
      deleted++;
    }
    return deleted;
  }

  dryRun(name: string, args: readonly Buffer[]): string | undefined {
    const user = this.#users?.get(name);
    const command = resolveCommand(args);
    const denial = user && command ? denialOf(user, command, args) : undefined;
    if (denial === undefined) return undefined;
    const what = denial.reason === 'command' ? `run the '${denial.object}' command` : undefined;
    const refused = what ?? `access the '${denial.object}' ${denial.reason}`;
    return `This user has no permissions to ${refused}${whyOf(denial)}`;
  }

  log(count: number): readonly AclLogEntry[] {
    return this.#log.newest(count);
  }

  /** What was refused, for INFO. */
  get refusals(): AclLog['counts'] {
    return this.#log.counts;
  }

  resetStatistics(): void {
    this.#log.resetCounts();
  }

  resetLog(): void {
    this.#log.reset();
  }

  secret(digits: number): string {
    return this.#world.random.hex(Math.ceil(digits / 2)).slice(0, digits);
  }

  /** `command`: what was refused, where that is not what the session ran last. */
  #note(session: Session, refusal: Noted, command = session.lastCommand): void {
    const nowMs = this.#world.clock.wallMs();
    const client = clientLine(session, nowMs, command).slice(0, limits.aclLogClientMax);
    const context = isInTransaction(session) ? 'multi' : 'toplevel';
    this.#log.add({ context, ...refusal, client }, nowMs);
  }

  async #edit(
    name: string,
    by: Session,
    change: (rules: string | undefined) => UserEdit,
  ): Promise<string | undefined> {
    const { clock, store } = this.#world;
    this.#changing.add(by);
    try {
      const edit = await store.edit(name, change);
      if ('refusal' in edit) return edit.refusal;
      const untilMs = clock.monotonicMs() + SEEN_WAIT_MS;
      while (this.#rulesOf(name) !== edit.rules && clock.monotonicMs() < untilMs) {
        await sleep(clock, SEEN_POLL_MS);
      }
      // what is stored behind the change is not for those whom it has ended, as with CLIENT KILL
      await Promise.all(this.#waits);
      return undefined;
    } catch (failure) {
      return `ERR the users could not be changed, try again: ${messageOf(failure)}`;
    } finally {
      this.#changing.delete(by);
    }
  }

  #rulesOf(name: string): string | undefined {
    const user = this.#users?.get(name);
    return user && describeUser(user);
  }
}

/** A record of a name that is none could not be read again, nor deleted. */
function nameProblem(name: string): string | undefined {
  if (/[\s\0]/.test(name)) return "ERR Usernames can't contain spaces or null characters";
  if (name.length <= limits.aclNameMax && /^[\x21-\x7e]+$/.test(name)) return undefined;
  return `ERR Usernames are 1 to ${limits.aclNameMax} printable ASCII characters; choose another`;
}

function isInTransaction(session: Session): boolean {
  return session.queued().transaction >= 0;
}

/** Nothing of it is logged: as in Redis it is the command that says so. */
function sortRefusal(user: User, command: Command, args: readonly Buffer[]): Reply | undefined {
  const option = sortOptionDenied(user, command, args);
  if (option === undefined) return undefined;
  return error(`ERR ${option} option of SORT denied due to insufficient ACL permissions.`);
}

/** The session is that user from now on, and where it belongs. */
function become(session: Session, { name, namespace }: User): void {
  session.user = name;
  if (namespace !== undefined) session.namespace = namespace;
}

function mayStay({ namespace, subscriber }: Session, user: User | undefined): boolean {
  if (user === undefined) return false;
  const isThere = user.namespace === undefined || user.namespace === namespace;
  return isThere && mayKeep(user, subscriber.subscriptions);
}

/** What is stored after the rules; a user that nobody has changed begins as Redis's. */
function changedRules(
  name: string,
  stored: string | undefined,
  rules: readonly string[],
): UserEdit {
  const first = name === 'default' ? openUser : newUser(name);
  const before = stored === undefined ? first : (parseUser(name, stored) ?? newUser(name));
  const after = changeUser(before, rules);
  if (typeof after === 'string') return { refusal: after };
  const text = describeUser(after);
  if (text.length > limits.aclRulesMax) {
    return { refusal: `ERR the rules of a user may have ${limits.aclRulesMax} characters` };
  }
  // a user whose rules nobody can read has lost all its rights, and its password
  const again = parseUser(name, text);
  return again && describeUser(again) === text ? { rules: text } : { refusal: AMBIGUOUS };
}

const AMBIGUOUS =
  'ERR the rules would be read back as others than they are: a pattern within a selector may not ' +
  "end with ')'; nothing was changed";

function selectorView(selector: Selector): SelectorView {
  return {
    commands: describeCommands(selector),
    keys: describeKeys(selector),
    channels: describeChannels(selector),
  };
}

function noRights({ name, flags }: Command): Denial | undefined {
  return flags.includes('no_auth') ? undefined : { reason: 'command', object: name, at: 0 };
}

function refusalText(denial: Denial): string {
  const { reason, object } = denial;
  if (denial.ofScript === true && reason !== 'command') {
    return `this user has no permissions to access all ${reason}s${whyOf(denial)}`;
  }
  if (reason !== 'command') {
    return `this user has no permissions to access one of the ${reason}s used as arguments`;
  }
  return `this user has no permissions to run the '${object}' command${whyOf(denial)}`;
}

/** Why what the request names is not enough. */
function whyOf({ ofScript }: Denial): string {
  if (ofScript !== true) return '';
  return (
    ': what a script does is not known before, so it takes a user who may run every command ' +
    'that scripts can run, on all keys and channels (+@all ~* &*)'
  );
}
