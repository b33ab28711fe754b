/** HTTP requests: paths, queries, methods and bodies of every route, bent. */
import type { Random } from '../../../src/common/random.ts';
import { anyValue, bendJson, bendText } from '../engine/bend-json.ts';
import { hold, type Room, wayOf } from '../engine/room.ts';
import { type HttpAnswer, HttpDoors } from '../http-doors.ts';
import { type HttpRequest, httpRequests } from '../http-requests.ts';
import type { Json } from '../json-mutations.ts';

/** A master does what it is told: what was deleted is put back after so many. */
const INPUTS_PER_FILL = 1_000;
/** And keeps some of it: it is made anew after so many. What a closed one leaves is 1.6 MiB. */
const INPUTS_PER_CLUSTER = 50_000;

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];
const types = ['application/json', 'text/plain', 'application/json; charset=x', '', '*', 'a/b;;'];
/** Those of the document; 406 is a datanode's, and a framework has a few for what is no request. */
const documented = [200, 304, 400, 401, 403, 404, 406, 409, 413, 414, 415, 503, 504];
const PIECES = ['%00', '%', '%zz', '%2f', '..', '//', '?', '&', '=', '#', ';', '+', '%C3%28', '[]'];
const URL_MAX = 6_000;

/** What is wrong with an answer: it throws; else the way that the request went. */
export function judgeAnswer({ door, method, url }: HttpRequest, answer: HttpAnswer): string {
  const { code, text } = answer;
  const what = () => `${method} ${url} answers ${code} ${text.slice(0, 300)}`;
  hold(documented.includes(code), what);
  const route = `${door} ${method} ${url.split(/[?#]/, 1)[0]!.slice(0, 40)}`;
  if (code < 400) return code === 304 ? `${route} 304` : `${route} ${code}`;
  if (method === 'HEAD') return `HEAD ${code}`;
  const { message } = readJson(text, what) as { readonly message?: unknown };
  hold(typeof message === 'string' && message.length > 5, what);
  hold(message !== 'Internal Server Error' && !/\n {4}at /.test(String(message)), what);
  const short = code === 404 ? 'no such' : wayOf(String(message));
  return code === 404 ? `${door} 404 ${wayOf(String(message)).slice(0, 8)}` : `${code} ${short}`;
}

function readJson(text: string, what: () => string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(what());
  }
}

const inputOf = (request: HttpRequest) => Buffer.from(JSON.stringify(request));
const requestOf = (input: Buffer) => JSON.parse(input.toString()) as HttpRequest;

function pick<Item>(items: readonly Item[], random: Random): Item {
  return items[random.below(items.length)]!;
}

function bend(input: Buffer, other: Buffer, random: Random): Buffer {
  let request = requestOf(input);
  const lent = requestOf(other);
  for (let left = 1 + random.below(2); left > 0; left--) request = bentPart(request, lent, random);
  return inputOf({ ...request, url: request.url.slice(0, URL_MAX) });
}

function bentPart(request: HttpRequest, lent: HttpRequest, random: Random): HttpRequest {
  switch (random.below(12)) {
    case 0:
      return { ...request, method: pick(methods, random) };
    case 1:
      return { ...request, type: pick(types, random) };
    case 2:
      return { ...request, ...(lent.body !== undefined && { body: lent.body }) };
    case 3:
    case 4:
      return { ...request, url: bentPath(request.url, lent.url, random) };
    case 5:
    case 6:
    case 7:
      return { ...request, url: bentQuery(request.url, lent.url, random) };
    default:
      return { ...request, body: bentBody(request.body ?? '{}', lent.body ?? '{}', random) };
  }
}

function bentBody(body: string, lent: string, random: Random): string {
  if (random.below(4) === 0) return bendText(body, lent, random).slice(0, 70_000);
  try {
    return JSON.stringify(bendJson(JSON.parse(body) as Json, JSON.parse(lent) as Json, random));
  } catch {
    return bendText(body, lent, random).slice(0, 70_000); // it is no JSON any more
  }
}

/** One segment becomes another, or something that is none. */
function bentPath(url: string, lent: string, random: Random): string {
  const [path = '', query] = url.split(/\?(.*)/s, 2);
  const segments = path.split('/');
  const at = 1 + random.below(segments.length);
  const own = segments[at] ?? '';
  const changed = [
    pick(lent.split(/[/?]/), random),
    encoded(anyValue(random)),
    own + pick(PIECES, random),
    `${own.slice(0, 1)}${'x'.repeat(random.below(600))}`,
    bendText(own, lent, random),
  ];
  segments.splice(at, random.below(3), pick(changed, random));
  return atRoot(query === undefined ? segments.join('/') : `${segments.join('/')}?${query}`);
}

/** One parameter gone, doubled, renamed, or of another value. */
function bentQuery(url: string, lent: string, random: Random): string {
  const [path = '', query = ''] = url.split(/\?(.*)/s, 2);
  const parameters = query === '' ? [] : query.split('&');
  const at = random.below(parameters.length + 1);
  const [name = 'x', value = ''] = (parameters[at] ?? '').split('=', 2);
  const changed = [
    `${name}=${encoded(anyValue(random))}`,
    `${name}=${encoded(anyValue(random))}`,
    `${name}[]=${value}&${name}=${value}`,
    `${name}=${value}&${name}=${value}`,
    name,
    `${pick(['__proto__', 'constructor', 'toString', 'X'], random)}=${value}`,
    `${name}=${bendText(value, lent, random)}`,
    `${name}=${value}${pick(PIECES, random)}`,
    pick(lent.split(/[?&]/), random),
  ];
  parameters.splice(at, random.below(2), pick(changed, random));
  return atRoot(`${path}?${parameters.join('&')}`);
}

/** A request line has no others: what a socket's parser refuses never comes to a route. */
function atRoot(url: string): string {
  const line = url.replaceAll(/[^!-~]/g, (one) => percent(one));
  return line.startsWith('/') && !line.startsWith('//') ? line : `/x${line}`;
}

/** Half a surrogate pair is no text. */
const percent = (text: string) => encodeURIComponent(Buffer.from(text).toString());

function encoded(value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return percent(text).slice(0, 1_000);
}

export async function openHttp(): Promise<Room> {
  let doors: HttpDoors | undefined;
  let judged = 0;
  return {
    name: 'http',
    share: 4,
    seeds: httpRequests.map(inputOf),
    bend,
    async judge(input) {
      if (judged % INPUTS_PER_CLUSTER === 0) {
        await doors?.close();
        doors = await HttpDoors.open();
      } else if (judged % INPUTS_PER_FILL === 0) await doors!.api.fill();
      judged++;
      const request = requestOf(input);
      return judgeAnswer(request, await doors!.send(request));
    },
    close: async () => doors?.close(),
  };
}
