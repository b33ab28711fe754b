/**
 * Keeps a process's credentials as its files say: they are read anew when they change, so that
 * certificates are renewed without a restart. New connections get the new ones. Files that are broken
 * are told of in the log, and the old ones go on. Compared is what is in them, not their times: where
 * files are links that are set to others (Kubernetes), times tell little.
 */
import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Logger } from '../log.ts';
import { LoneTimer } from '../lone-timer.ts';
import {
  type CertificateEnd,
  type Credentials,
  daysLeft,
  type SomeCredentials,
} from './credentials.ts';

export interface KeeperOptions<Kept extends SomeCredentials> {
  /** Reads the files; rejects with BAD_CONFIG when they cannot be used. */
  read(nowMs: number): Promise<Kept>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** For metrics. */
export interface DaysLeft {
  /** `cert-file`, `ca-file`; with `meta.` before it where the store has files of its own. */
  readonly file: string;
  /** Of the first to end of its certificates. */
  readonly days: number;
}

export class CredentialKeeper<Kept extends SomeCredentials = Credentials> {
  readonly #options: KeeperOptions<Kept>;
  readonly #timer: LoneTimer;
  readonly #listeners = new Set<() => void>();
  #current: Kept;
  /** Whether the last look found something wrong, and what was told of it. */
  #isWrong = false;
  #toldProblem: string | undefined;
  /** Of certificates in use, for how many days or less it was told that they end. */
  #toldEnds = new Map<CertificateEnd, number>();
  #looking: Promise<void> | undefined;
  #stopped = false;

  private constructor(options: KeeperOptions<Kept>, first: Kept) {
    this.#options = options;
    this.#timer = new LoneTimer(options.clock);
    this.#current = first;
  }

  /** Reads the files, and looks at them again from time to time; rejects with BAD_CONFIG. */
  static async open<Kept extends SomeCredentials>(
    options: KeeperOptions<Kept>,
  ): Promise<CredentialKeeper<Kept>> {
    const keeper = new CredentialKeeper(options, await options.read(options.clock.wallMs()));
    keeper.#warnOfEnds();
    keeper.#lookLater(limits.tlsFilesLookMs);
    return keeper;
  }

  /** What new connections are to use; the same object until the files have changed. */
  get current(): Kept {
    return this.#current;
  }

  /** `listener` hears when `current` has become another, until what this returns is called. */
  onRenewed(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The first of each file to end. */
  daysLeft(): (DaysLeft & Pick<CertificateEnd, 'file'>)[] {
    const nowMs = this.#options.clock.wallMs();
    const first = new Map<CertificateEnd['file'], number>();
    for (const end of this.#current.ends) {
      const days = daysLeft(end, nowMs);
      first.set(end.file, Math.min(days, first.get(end.file) ?? days));
    }
    return [...first].map(([file, days]) => ({ file, days }));
  }

  /** Looks at the files now: an operator says that they have changed, and wants to hear. */
  async reload(): Promise<void> {
    this.#options.logger.info('looking at the files of TLS, as asked for');
    // it may have read what has changed since
    await this.#looking;
    this.#isWrong = true;
    this.#toldProblem = undefined;
    await this.#look();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer.cancel();
  }

  #lookLater(delayMs: number): void {
    if (!this.#stopped) this.#timer.ask(delayMs, () => void this.#look());
  }

  #look(): Promise<void> {
    this.#looking ??= this.#lookNow().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookNow(): Promise<void> {
    this.#timer.cancel();
    try {
      this.#take(await this.#options.read(this.#options.clock.wallMs()));
    } catch (failure) {
      this.#lookLater(this.#isWrong ? limits.tlsFilesLookMs : limits.tlsFilesAgainMs);
      // one of the files may have been written, and another not yet
      if (this.#isWrong) this.#tell(messageOf(failure));
      this.#isWrong = true;
      return;
    }
    this.#isWrong = false;
    this.#toldProblem = undefined;
    this.#warnOfEnds();
    this.#lookLater(limits.tlsFilesLookMs);
  }

  #tell(problem: string): void {
    if (this.#toldProblem === problem || this.#stopped) return;
    this.#toldProblem = problem;
    const text = 'the files of TLS cannot be used: what was read before goes on';
    this.#options.logger.error(text, { problem });
  }

  #take(found: Kept): void {
    if (this.#stopped || isSame(found, this.#current)) return;
    this.#current = found;
    this.#toldEnds.clear();
    const certificates = found.ends.map(({ file, subject }) => `${file}: ${subject}`);
    this.#options.logger.info('new certificates: new connections get them', { certificates });
    for (const listener of this.#listeners) listener();
  }

  #warnOfEnds(): void {
    const { clock, logger } = this.#options;
    const nowMs = clock.wallMs();
    const bounds = [...limits.tlsWarnDays, 0];
    for (const end of this.#current.ends) {
      const days = daysLeft(end, nowMs);
      const bound = bounds.findLast((most) => days <= most);
      if (bound === undefined || bound >= (this.#toldEnds.get(end) ?? bound + 1)) continue;
      this.#toldEnds.set(end, bound);
      const { file, subject, ends } = end;
      const fields = { file, subject, ends, days: Math.floor(days) };
      if (bound === 0) logger.error('a certificate has expired: others refuse it', fields);
      else logger.warn('a certificate expires soon: renew it', fields);
    }
  }
}

function isSame(a: SomeCredentials, b: SomeCredentials): boolean {
  return a.certificate === b.certificate && a.key === b.key && a.authorities === b.authorities;
}
