/**
 * Queues as arrays, and what a log does to them, told anew: after each command of an entry (EXEC is
 * one) whoever waits and is carried by it is served, in order, before the next command runs. Every
 * reply about a queue, and whom each entry serves with what, must be what this gives.
 */
import { decodeExec } from '../../../src/datanode/commands/transactions/exec-line.ts';
import type { Served } from '../../../src/datanode/partition/applying/serving.ts';
import type { EnvelopeBody } from '../../../src/datanode/partition/entries/envelope.ts';
import type { CarriedWaiter } from '../../../src/datanode/partition/entries/waiter-codec.ts';
import { decodeReply } from '../../../src/datanode/resp/decode-reply.ts';
import { encodeReply } from '../../../src/datanode/resp/encode-reply.ts';
import type { Reply } from '../../../src/datanode/resp/reply.ts';
import { queueKeys, queueSet } from '../typed.ts';
import { Violation } from './checker.ts';
import { didRun } from './entry-lines.ts';

type Body = Extract<EnvelopeBody, { family: 'redis' }>;
/** As RESP2 has it: a bulk string, an integer, an array, nothing. */
type Plain = string | number | null | readonly Plain[];
type Words = readonly string[];

interface Waiting {
  readonly waiter: CarriedWaiter;
  readonly words: Words;
  readonly keys: Words;
  served: boolean;
}

const ofQueues = new Set([...queueKeys, queueSet]);

export class QueueModel {
  readonly #lists = new Map<string, string[]>(queueKeys.map((key) => [key, []]));
  readonly #scores = new Map<string, number>();
  readonly #kept = new Set<string>();
  /** Keys with something new, in the order in which they got it. */
  readonly #filled = new Set<string>();

  /** Throws Violation. `where`: for its text. */
  judge(body: Body, replies: readonly Reply[], served: readonly Served[], where: string): void {
    const waiting = this.#waiting(body);
    const given: string[] = [];
    this.#filled.clear();
    for (const key of body.waiting?.ready ?? []) this.#filled.add(key.toString());
    for (const [at, line] of body.lines.entries()) {
      const plain = didRun(line, replies[at]!) ? this.#runLine(line) : undefined;
      if (plain !== undefined) expectSame(where, show(line), plain, plainOf(replies[at]!));
      this.#serveFilled(waiting, given);
    }
    this.#serveFilled(waiting, given);
    for (const one of waiting) {
      if (one.waiter.asked && !one.served) this.#serve(one, one.words, given);
      this.#serveFilled(waiting, given);
    }
    const known = new Set(waiting.map(({ waiter }) => waiter.id.toString('hex')));
    const got = served
      .filter(({ id }) => known.has(id.toString('hex')))
      .map(({ id, reply }) => `${id.toString('hex')} ${JSON.stringify(plainOf(reply))}`);
    expectSame(where, 'whom it serves', given, got);
  }

  #waiting({ waiting }: Body): Waiting[] {
    return (waiting?.waiters ?? []).flatMap((waiter) => {
      const words = waiter.line.map(String);
      const keys = words.filter((word) => ofQueues.has(word));
      const from = /MOVE|PUSH/.test(words[0]!) ? keys.slice(0, 1) : keys;
      if (keys.length === 0 || this.#kept.has(waiter.id.toString('hex'))) return [];
      return [{ waiter, words, keys: from, served: false }];
    });
  }

  #serveFilled(waiting: readonly Waiting[], given: string[]): void {
    for (let [key] = this.#filled; key !== undefined; [key] = this.#filled) {
      this.#filled.delete(key);
      for (const one of waiting) {
        if (one.served || !one.keys.includes(key) || this.#isEmpty(key)) continue;
        const all = one.waiter.asked || one.words[0] === 'BLMOVE' || one.words[0] === 'BRPOPLPUSH';
        this.#serve(one, all ? one.words : onlyOf(one, key), given);
      }
    }
  }

  #serve(one: Waiting, words: Words, given: string[]): void {
    const plain = this.#run(words);
    if (plain === null || plain === undefined) return;
    one.served = true;
    const id = one.waiter.id.toString('hex');
    this.#kept.add(id);
    given.push(`${id} ${JSON.stringify(plain)}`);
  }

  /** Undefined: it is about no queue. */
  #runLine(line: readonly Buffer[]): Plain | undefined {
    if (line[0]!.toString().toLowerCase() !== 'exec') return this.#run(line.map(String));
    const inner = (decodeExec(line) ?? []).map((one) => this.#run(one.map(String)));
    return inner.some((plain) => plain === undefined) ? undefined : (inner as Plain[]);
  }

  #run(words: Words): Plain | undefined {
    const [name, ...args] = words as [string, ...string[]];
    const keys = args.filter((word) => ofQueues.has(word));
    if (keys.length === 0) return undefined;
    const count = words.includes('COUNT') ? Number(words[words.indexOf('COUNT') + 1]) : 1;
    switch (name) {
      case 'LPUSH':
      case 'RPUSH':
        for (const element of args.slice(1)) this.#push(args[0]!, element, name === 'LPUSH');
        return this.#lists.get(args[0]!)!.length;
      case 'ZADD':
        return this.#add(args.slice(1));
      case 'LPOP':
      case 'RPOP': {
        const taken = this.#pop(args[0]!, name === 'LPOP', Number(args[1] ?? 1));
        return taken && args[1] === undefined ? taken[0]! : taken;
      }
      case 'LMOVE':
      case 'BLMOVE':
        return this.#move(args[0]!, args[1]!, args[2] === 'LEFT', args[3] === 'LEFT');
      case 'BRPOPLPUSH':
        return this.#move(args[0]!, args[1]!, false, true);
      case 'ZPOPMIN':
        return (this.#popScores(true, 1) ?? []).flat();
      case 'BZPOPMIN':
      case 'BZPOPMAX': {
        const taken = this.#popScores(name === 'BZPOPMIN', 1);
        return taken && [queueSet, ...taken[0]!];
      }
      case 'BZMPOP': {
        const taken = this.#popScores(words.includes('MIN'), count);
        return taken && [queueSet, taken];
      }
    }
    const key = keys.find((one) => !this.#isEmpty(one));
    if (key === undefined) return null;
    if (name.endsWith('MPOP')) return [key, this.#pop(key, words.includes('LEFT'), count)!];
    return [key, this.#pop(key, name === 'BLPOP', 1)![0]!];
  }

  #isEmpty(key: string): boolean {
    return (this.#lists.get(key)?.length ?? this.#scores.size) === 0;
  }

  #touch(key: string): void {
    if (!this.#isEmpty(key)) this.#filled.add(key);
  }

  #push(key: string, element: string, left: boolean): void {
    const list = this.#lists.get(key)!;
    if (left) list.unshift(element);
    else list.push(element);
    this.#touch(key);
  }

  /** Null: there is nothing. */
  #pop(key: string, left: boolean, count: number): string[] | null {
    const list = this.#lists.get(key)!;
    if (list.length === 0) return null;
    const first = left ? 0 : Math.max(0, list.length - count);
    const taken = list.splice(first, count);
    this.#touch(key);
    return left ? taken : taken.reverse();
  }

  #move(from: string, to: string, left: boolean, toLeft: boolean): Plain {
    const [element] = this.#pop(from, left, 1) ?? [];
    if (element === undefined) return null;
    this.#push(to, element, toLeft);
    return element;
  }

  #add(pairs: Words): number {
    for (let at = 0; at < pairs.length; at += 2) {
      this.#scores.set(pairs[at + 1]!, Number(pairs[at]));
    }
    this.#touch(queueSet);
    return pairs.length / 2;
  }

  #popScores(lowest: boolean, count: number): [string, string][] | null {
    if (this.#scores.size === 0) return null;
    const sorted = [...this.#scores].sort(
      ([a, one], [b, other]) => one - other || Buffer.from(a).compare(Buffer.from(b)),
    );
    const taken = (lowest ? sorted : sorted.reverse()).slice(0, count);
    for (const [member] of taken) this.#scores.delete(member);
    this.#touch(queueSet);
    return taken.map(([member, score]) => [member, String(score)]);
  }
}

/** Whoever waits for several keys is served from the one that was filled. */
function onlyOf({ words, keys }: Waiting, key: string): Words {
  return words.filter((word) => word === key || !keys.includes(word));
}

function plainOf(reply: Reply): Plain {
  const decoded = decodeReply(encodeReply(reply, 2));
  switch (decoded.kind) {
    case 'bulk':
      return decoded.bytes.toString();
    case 'integer':
      return Number(decoded.value);
    case 'array':
      return decoded.items.map(plainOf);
    case 'simple':
    case 'error':
      return decoded.text;
    default:
      return null;
  }
}

function show(line: readonly Buffer[]): string {
  return line.map(String).join(' ');
}

function expectSame(where: string, what: string, wanted: Plain, got: Plain): void {
  const [one, other] = [JSON.stringify(wanted), JSON.stringify(got)];
  if (one === other) return;
  throw new Violation('queues', `${where}: ${what}: ${other}, and not ${one}`);
}
