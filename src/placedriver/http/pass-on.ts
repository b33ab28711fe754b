/**
 * A write that reached a placedriver that is not master is sent on to the one that is, once: whoever
 * gets it so and is not master either says so instead of sending it round.
 */
import { messageOf, systemCodeOf } from '../../common/errors.ts';
import { hostPort } from '../../common/host-port.ts';
import { ask } from '../../common/tls/ask.ts';
import type { PlacedriverRecord } from '../../meta/schema.ts';
import type { ApiContext } from './context.ts';

/** The placedriver that sent a request on. */
export const PASSED_ON = 'kvorum-passed-on-by';

const TIMEOUT_MS = 15_000;
const SCHEME_AND_HOST = /^https?:\/\/[^/?#]*/i;

export interface PassedRequest {
  readonly method: string;
  /** Path and query; behind scheme and host when a proxy sends it (RFC 9112, absolute-form). */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
}

export interface PassedAnswer {
  readonly status: number;
  readonly body: string;
  readonly type: string;
}

/** Why a term is over, and who is elected: who lost it may have the next one as well. */
const endings = {
  banned: 'it is banned); another',
  ended: 'its term has ended); the next',
} as const;

type Asked = Pick<ApiContext, 'name' | 'view' | 'clock' | 'rival' | 'deposed' | 'authorities'>;

export class PassOn {
  readonly #context: Asked;
  readonly #timeoutMs: number;

  constructor(context: Asked, timeoutMs = TIMEOUT_MS) {
    this.#context = context;
    this.#timeoutMs = timeoutMs;
  }

  /** Never rejects: an answer of its own says why there is none of the master. */
  async send(request: PassedRequest): Promise<PassedAnswer> {
    const master = this.#masterFor(request);
    return typeof master === 'string' ? refused(503, master) : this.#ask(master, request);
  }

  /** Or why it is sent to nobody. */
  #masterFor({ headers }: PassedRequest): PlacedriverRecord | string {
    const { name: own, view } = this.#context;
    const sender = headers[PASSED_ON];
    if (sender !== undefined) {
      return `${sender} took ${own} for the master, which it is not (any more); try again`;
    }
    const master = view.ready ? view.master : undefined;
    if (master === undefined) return 'no placedriver is master at the moment; try again';
    if (master.name === own) return this.#whyNotOwn();
    const record = view.picture.placedrivers().find(({ name }) => name === master.name);
    if (record !== undefined) return record;
    return `${master.name} is master, but has not told where it can be reached; try again`;
  }

  /** The store names this one, which is not master: by another of its name, not yet, or no more. */
  #whyNotOwn(): string {
    const { name, rival, deposed } = this.#context;
    const why = rival();
    if (why !== undefined) return why;
    const ended = deposed();
    if (ended === undefined) return `${name} is about to be master; try again`;
    return `${name} is master no more (${endings[ended]} is being elected; try again`;
  }

  async #ask(master: PlacedriverRecord, request: PassedRequest): Promise<PassedAnswer> {
    const given = new AbortController();
    const { name, clock } = this.#context;
    const timer = clock.setTimer(this.#timeoutMs, () => given.abort());
    const where = hostPort({ host: master.host, port: master.httpPort });
    const path = request.url.replace(SCHEME_AND_HOST, '');
    const { authorization } = request.headers;
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    try {
      const scheme = master.httpTls === undefined ? 'http' : 'https';
      const answer = await ask(`${scheme}://${where}${path}`, {
        method: request.method,
        headers: {
          [PASSED_ON]: name,
          ...(typeof authorization === 'string' && { authorization }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body }),
        authorities: this.#context.authorities?.(),
        signal: given.signal,
      });
      const type = answer.header('content-type') ?? 'application/json';
      return { status: answer.status, body: answer.text, type };
    } catch (failure) {
      return this.#unanswered(master, failure, given.signal.aborted);
    } finally {
      timer.cancel();
    }
  }

  #unanswered({ name, host, httpPort }: PlacedriverRecord, failure: unknown, late: boolean) {
    const where = `the master ${name} at ${hostPort({ host, port: httpPort })}`;
    if (late) {
      const text = `${where} did not answer within ${this.#timeoutMs} ms`;
      return refused(504, `${text}: the request may have taken effect`);
    }
    const cause = (failure as { readonly cause?: unknown }).cause;
    if (systemCodeOf(cause) === 'ECONNREFUSED') {
      return refused(503, `${where} refuses connections: nothing was done; try again`);
    }
    const why = messageOf(cause ?? failure);
    return refused(504, `${where} did not answer (${why}): the request may have taken effect`);
  }
}

function refused(status: number, message: string): PassedAnswer {
  return { status, body: JSON.stringify({ message }), type: 'application/json' };
}
