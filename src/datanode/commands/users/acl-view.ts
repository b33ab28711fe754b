/** Users as the ACL, AUTH and HELLO commands see them; datanode/acl has their rules. */
import type { Namespace } from '../../../common/ids.ts';
import type { Session } from '../rows/node-context.ts';

export interface SelectorView {
  readonly commands: string;
  readonly keys: string;
  readonly channels: string;
}

export interface UserView extends SelectorView {
  readonly flags: readonly string[];
  readonly passwords: readonly string[];
  /** The only one it may use; undefined: all. */
  readonly namespace: Namespace | undefined;
  readonly selectors: readonly SelectorView[];
}

export interface AclLogEntry {
  readonly id: number;
  readonly count: number;
  readonly reason: 'command' | 'key' | 'channel' | 'auth' | 'namespace';
  readonly context: 'toplevel' | 'multi';
  readonly object: string;
  readonly user: string;
  /** A line as of CLIENT LIST, when it was last refused. */
  readonly client: string;
  readonly createdMs: number;
  readonly updatedMs: number;
}

/** Names and rules are latin1 text. What can fail answers with an error's text. */
export interface AclView {
  /** The default user needs no password. */
  readonly isOpen: boolean;
  /** The session has said who it is, or need not. */
  isAuthenticated(session: Session): boolean;
  hasUser(name: string): boolean;
  /**
   * True: the session is that user from now on, in the user's namespace if it has one. False: noted
   * in the log as refused to `command`.
   */
  authenticate(session: Session, name: string, password: Buffer, command: string): boolean;
  /** False, and noted: the session's user is bound to another namespace. */
  maySelect(session: Session, namespace: Namespace): boolean;
  /** As a new connection: the default user if that needs no password, in its namespace. */
  forget(session: Session): void;
  userNames(): readonly string[];
  /** A line a user, as SETUSER would take it. */
  list(): readonly string[];
  user(name: string): UserView | undefined;
  /**
   * Resolves once every datanode will have it, and this one has; or an error's text. `by`: who hears of
   * that before its connection ends, should the change end it.
   */
  setUser(name: string, rules: readonly string[], by: Session): Promise<string | undefined>;
  /** How many there were; an error's text when they could not be deleted. */
  deleteUsers(names: readonly string[], by: Session): Promise<number | string>;
  /** What keeps the user from running the request; undefined: nothing. */
  dryRun(name: string, args: readonly Buffer[]): string | undefined;
  log(count: number): readonly AclLogEntry[];
  resetLog(): void;
  /** Random hex digits. */
  secret(digits: number): string;
}
