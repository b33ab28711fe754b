/** The placedriver's /v1 from the command line: finds one that answers, and says why when none does. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ErrorCode, KvorumError, messageOf, systemCodeOf } from '../../common/errors.ts';
import { type Answer, ask } from '../../common/tls/ask.ts';
import { readRunFiles } from '../run-file.ts';
import { authoritiesOf, httpBaseOf } from '../run-url.ts';

export interface ApiFlags {
  /** `http://host:port` of placedrivers; any of them will do. */
  readonly url?: readonly string[];
  /** Directory of `kvorum start`, where its placedriver's port is told; absent: `kvorum-data`. */
  readonly data?: string;
  readonly token?: string;
  /** A file of authorities, for https. */
  readonly ca?: string;
  readonly json?: boolean;
}

/** More than a placedriver takes to ask its master, and that its store. */
const TIMEOUT_MS = 30_000;
/** An election takes the last master's lease at most. */
const MASTERLESS_MS = 15_000;
const RETRY_MS = 500;
/** After this a placedriver has heard of what its master has written. */
export const HEARD_MS = 5_000;
const HEARD_LOOK_MS = 50;
const DEFAULT_DATA = 'kvorum-data';
const DEFAULT_URL = 'http://127.0.0.1:18001';

export interface Place {
  readonly url: string;
  /** In PEM, for https. */
  readonly authorities?: string | undefined;
}

export class Api {
  readonly #places: readonly Place[];
  readonly #token: string | undefined;

  constructor(flags: ApiFlags) {
    this.#places = placedrivers(flags);
    this.#token = flags.token ?? process.env['KVORUM_TOKEN'];
  }

  get<T>(path: string): Promise<T> {
    return this.#ask<T>('GET', path);
  }

  /** Resolves when the master has done, or begun, what is asked. */
  async write(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object) {
    await this.#ask<unknown>(method, path, body);
  }

  /** Between two masters nothing is done, and the answer says so: that is waited out. */
  async #ask<T>(method: string, path: string, body?: object): Promise<T> {
    const untilMs = performance.now() + MASTERLESS_MS;
    for (;;) {
      const answer = await this.#send(method, path, body);
      const { message } = parsed(answer.text) as { message?: unknown };
      const undone = answer.status === 503 && /try again$/.test(String(message));
      if (!undone || performance.now() > untilMs) return readAnswer<T>(answer);
      await sleep(RETRY_MS);
    }
  }

  /** A placedriver that cannot be reached is passed over; the first answer counts. */
  async #send(method: string, path: string, body?: object): Promise<Answer> {
    const failures: string[] = [];
    for (const { url, authorities } of this.#places) {
      let answer: Answer;
      try {
        answer = await ask(new URL(path, url).href, {
          method,
          signal: AbortSignal.timeout(TIMEOUT_MS),
          authorities,
          headers: {
            ...(body && { 'content-type': 'application/json' }),
            ...(this.#token && { authorization: `Bearer ${this.#token}` }),
          },
          ...(body && { body: JSON.stringify(body) }),
        });
      } catch (failure) {
        failures.push(`${url}: ${causeOf(failure)}`);
        if (method !== 'GET' && !isUnsent(failure)) break; // it may have been done
        continue;
      }
      return answer;
    }
    throw new KvorumError(
      'STORE_UNAVAILABLE',
      `no placedriver answers (${failures.join('; ')}); name one with --url http://host:port`,
    );
  }
}

/**
 * What `read` resolves to once it is as was just written: who answers, be it the master, hears of that
 * from the store, a moment later. When somebody else has changed it since, what it is then.
 */
export async function untilHeard<T>(
  read: () => Promise<T>,
  isAsWritten: (now: T) => boolean,
): Promise<T> {
  const untilMs = performance.now() + HEARD_MS;
  for (;;) {
    const now = await read();
    if (isAsWritten(now) || performance.now() > untilMs) return now;
    await sleep(HEARD_LOOK_MS);
  }
}

function readAnswer<T>(answer: Answer): T {
  const body = parsed(answer.text) as { message?: unknown };
  if (answer.ok) return body as T;
  const { message } = body;
  const why = typeof message === 'string' ? message : `${answer.url} answers ${answer.status}`;
  const token = answer.status === 401 || answer.status === 403;
  const code = refusals.get(answer.status) ?? 'BAD_ARGUMENT';
  throw new KvorumError(code, token ? `${why}; give --token or KVORUM_TOKEN` : why);
}

/** What a verb may want to tell from the other refusals. */
const refusals: ReadonlyMap<number, ErrorCode> = new Map([
  [404, 'NOT_FOUND'],
  [409, 'CONFLICT'],
]);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

/** Where placedrivers are, as the flags say. Throws BAD_ARGUMENT. */
export function placedrivers({ url, data, ca }: ApiFlags): readonly Place[] {
  const authorities = ca === undefined ? undefined : readAuthorities(ca);
  const places = url?.map((one) => ({ url: checkedUrl(one) })) ?? placesOf(data);
  return places.map((place) => ({ ...place, ...(authorities && { authorities }) }));
}

/** Also where another placedriver would answer: what is no address is a mistake of the line. */
function checkedUrl(url: string): string {
  if (/^https?:\/\//i.test(url) && URL.canParse(url)) return url;
  throw new KvorumError('BAD_ARGUMENT', `--url ${url}: must be as http://host:port`);
}

/** A directory that was named and has none is a mistake: the default may be another cluster. */
function placesOf(data: string | undefined): Place[] {
  const places = readRunFiles(data ?? DEFAULT_DATA).flatMap((run) => {
    const url = run.role === 'placedriver' ? httpBaseOf(run) : undefined;
    return url === undefined ? [] : [{ url, authorities: authoritiesOf(run) }];
  });
  if (places.length > 0) return places;
  if (data === undefined) return [{ url: DEFAULT_URL }];
  throw new KvorumError(
    'BAD_ARGUMENT',
    `--data ${data}: no placedriver has run there; name the data directory of a kvorum start, or ` +
      'a placedriver with --url http://host:port',
  );
}

function readAuthorities(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch (cause) {
    throw new KvorumError('BAD_ARGUMENT', `--ca ${file}: cannot be read (${messageOf(cause)})`);
  }
}

/** fetch hides the system's reason one level down. */
function causeOf(failure: unknown): string {
  const cause = failure instanceof Error ? failure.cause : undefined;
  return messageOf(cause ?? failure) || 'cannot be reached';
}

/** What ends an attempt before there is a connection. */
const unsentCodes: ReadonlySet<string | undefined> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** True when fetch failed without a byte sent: of every address of the host, where it has several. */
export function isUnsent(failure: unknown): boolean {
  const cause = failure instanceof Error ? failure.cause : undefined;
  if (cause instanceof AggregateError) return cause.errors.every(isUnconnected);
  return isUnconnected(cause);
}

function isUnconnected(cause: unknown): boolean {
  const code = systemCodeOf(cause);
  if (code !== 'ETIMEDOUT') return unsentCodes.has(code);
  return (cause as NodeJS.ErrnoException).syscall === 'connect';
}
