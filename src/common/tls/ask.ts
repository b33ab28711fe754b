/**
 * One HTTP request and its whole answer, over TLS where the address says so: there the authorities that
 * are believed can be chosen, which `fetch` of Node.js does not let its callers do.
 */
import { request } from 'node:https';
import type { ConnectionOptions } from 'node:tls';

export interface Question {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** In PEM, for https; undefined: those that Node.js believes. */
  readonly authorities?: string | undefined;
  /** More of what TLS is given, for https. */
  readonly tls?: Pick<
    ConnectionOptions,
    'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'
  >;
}

export interface Answer {
  readonly ok: boolean;
  readonly status: number;
  readonly url: string;
  readonly text: string;
  /** By its name in small letters. */
  header(name: string): string | undefined;
}

/** Rejects as `fetch` does: the reason is the `cause` of the error. No redirection is followed. */
export function ask(url: string, question: Question = {}): Promise<Answer> {
  return url.startsWith('https:') ? askSecurely(url, question) : askPlain(url, question);
}

async function askPlain(
  url: string,
  { authorities: _, tls: __, ...question }: Question,
): Promise<Answer> {
  const answer = await fetch(url, { ...question, redirect: 'error' });
  return {
    ok: answer.ok,
    status: answer.status,
    url,
    text: await answer.text(),
    header: (name) => answer.headers.get(name) ?? undefined,
  };
}

function askSecurely(url: string, question: Question): Promise<Answer> {
  const { method = 'GET', headers = {}, body, signal, authorities, tls } = question;
  return new Promise((resolve, reject) => {
    const fail = (cause: Error) => reject(new Error(`${url}: no answer`, { cause }));
    const how = {
      method,
      headers,
      ...(signal && { signal }),
      ...(authorities && { ca: authorities }),
      ...tls,
    };
    const asked = request(url, how, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('error', fail);
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        const { statusCode: status = 0 } = answer;
        resolve({
          ...{ status, url },
          ok: status >= 200 && status < 300,
          text: Buffer.concat(chunks).toString('utf8'),
          header: (name) => [answer.headers[name]].flat()[0],
        });
      });
    });
    asked.on('error', fail);
    asked.end(body);
  });
}
