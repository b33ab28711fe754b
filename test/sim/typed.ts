/**
 * Commands over all data types, and queues: lists and a sorted set into which every element is put
 * once, and from which clients take, or for which they block until they are served, time is up, or
 * they leave. Each call is remembered with its times: checkers hold it against the log.
 */
import type { Clock } from '../../src/common/clock.ts';
import type { Random } from '../../src/common/random.ts';
import { resolveCommand } from '../../src/datanode/commands/table/table.ts';
import type { Reply } from '../../src/datanode/resp/reply.ts';
import { drawRead, drawWrite } from './commands/all.ts';
import { Draw, type Line } from './commands/draw.ts';
import { drawLibraryChange } from './commands/function.ts';

export interface Sent {
  readonly client: number;
  /** One; of a transaction those that it queued. */
  readonly lines: readonly (readonly Buffer[])[];
  readonly transaction: boolean;
  readonly invokedMs: number;
  /** Infinity: no answer, or one that does not tell what happened. */
  returnedMs: number;
  /** Undefined: the outcome is not known. */
  reply: Reply | undefined;
  /** What was answered says that nothing happened. */
  refused: boolean;
}

/** What became of clients that blocked. */
export interface Waits {
  served: number;
  /** Time was up. */
  inVain: number;
  /** They left, or it is not known. */
  open: number;
}

export function waitsOf(sent: readonly Sent[]): Waits {
  const waits: Waits = { served: 0, inVain: 0, open: 0 };
  for (const { lines, transaction, reply, refused } of sent) {
    if (transaction || refused || !asksToWait(lines[0]!)) continue;
    if (reply === undefined) waits.open++;
    else if (reply.kind.startsWith('null')) waits.inVain++;
    else if (reply.kind !== 'error') waits.served++;
  }
  return waits;
}

/** XREAD and its like do so with an option alone. */
export function asksToWait(line: readonly Buffer[]): boolean {
  const command = resolveCommand(line);
  if (command === undefined || command.kind === 'node' || !command.prepare(line).ok) return false;
  return command.blocking?.(line) !== undefined;
}

/** How one client asks, and what its answers mean. */
export interface Asker {
  /** On a connection to any node; `patienceMs`: it leaves when there is no answer after that. */
  ask(line: Line, patienceMs?: number): Promise<Reply | undefined>;
  /** On the connection there is: undefined when it broke. */
  askOn(line: Line): Promise<Reply | undefined>;
  /** Breaks the connection. */
  leave(): void;
  meaning(reply: Reply | undefined): 'known' | 'unknown' | 'refused';
}

export const queueKeys = ['{q}0', '{q}1'];
/** A queue as well, by score; of another type than those. */
export const queueSet = '{q}z';
const WRITES = 0.65;
const LINES_MAX = 4;
const LIBRARY_CHANGES = 0.03;
/** Well within what a client waits for an answer (workload.ts). */
const TIMEOUT_MAX_MS = 5_000;

export class TypedClient {
  readonly #number: number;
  readonly #asker: Asker;
  readonly #clock: Clock;
  readonly #draw: Draw;
  readonly #sent: Sent[];
  #elements = 0;

  /** Adds what it sends to `sent`. */
  constructor(number: number, asker: Asker, clock: Clock, random: Random, sent: Sent[]) {
    this.#number = number;
    this.#asker = asker;
    this.#clock = clock;
    this.#draw = new Draw(random, () => clock.wallMs());
    this.#sent = sent;
  }

  /** One command of any type, or one transaction. False: there was no answer. */
  any({ flushes }: { readonly flushes: boolean }): Promise<boolean> {
    const draw = this.#draw;
    draw.turn();
    if (flushes && draw.chance(0.01)) return this.#one([draw.one(['FLUSHALL', 'FLUSHDB'])]);
    if (draw.chance(LIBRARY_CHANGES)) return this.#one(drawLibraryChange(draw));
    return draw.chance(0.15) ? this.#transaction() : this.#one(this.#line());
  }

  /** Puts into a queue, takes from one, or looks at one. */
  queue(): Promise<boolean> {
    const draw = this.#draw;
    if (draw.chance(0.1)) return this.#one(['LRANGE', draw.one(queueKeys), '0', '-1']);
    if (draw.chance(0.4)) return this.#one(this.#take());
    return draw.chance(0.2) ? this.#pushAtOnce() : this.#one(this.#push());
  }

  /** Blocks for what others put into a queue. Some leave while they wait. */
  block(): Promise<boolean> {
    const draw = this.#draw;
    const timeoutMs = draw.number(20, draw.one([200, 1_500, TIMEOUT_MAX_MS]));
    const patienceMs = draw.chance(0.1) ? draw.number(10, timeoutMs) : undefined;
    return this.#one(this.#wait(String(timeoutMs / 1_000)), patienceMs);
  }

  /** Whoever blocks is served after the whole of it. */
  #pushAtOnce(): Promise<boolean> {
    const pushes = Array.from({ length: this.#draw.number(2, 3) }, () => this.#push());
    return this.#transact(['PING'], pushes);
  }

  #line(): Line {
    return this.#draw.chance(WRITES) ? drawWrite(this.#draw) : drawRead(this.#draw);
  }

  #push(): Line {
    const draw = this.#draw;
    const element = () => [`${this.#number}-${++this.#elements}`];
    if (draw.chance(0.2)) {
      return ['ZADD', queueSet, ...draw.some(3, () => [draw.int(0, 9), ...element()])];
    }
    return [draw.one(['LPUSH', 'RPUSH']), draw.one(queueKeys), ...draw.some(3, element)];
  }

  #take(): Line {
    const draw = this.#draw;
    const key = draw.one(queueKeys);
    const [from, to] = [draw.one(['LEFT', 'RIGHT']), draw.one(['LEFT', 'RIGHT'])];
    const takes: readonly Line[] = [
      ['LPOP', key],
      ['RPOP', key],
      ['LPOP', key, '2'],
      ['LMPOP', '2', ...queueKeys, from, 'COUNT', '2'],
      ['LMOVE', key, draw.one(queueKeys), from, to],
      ['ZPOPMIN', queueSet],
    ];
    return draw.one(takes);
  }

  #wait(timeout: string): Line {
    const draw = this.#draw;
    const [key, other] = [draw.one(queueKeys), draw.one(queueKeys)];
    const [from, to] = [draw.one(['LEFT', 'RIGHT']), draw.one(['LEFT', 'RIGHT'])];
    const waits: readonly Line[] = [
      ['BLPOP', key, timeout],
      ['BLPOP', ...queueKeys, timeout],
      ['BRPOP', key, timeout],
      ['BLMPOP', timeout, '2', ...queueKeys, from, 'COUNT', draw.int(1, 3)],
      ['BLMOVE', key, other, from, to, timeout],
      ['BRPOPLPUSH', key, other, timeout],
      [draw.one(['BZPOPMIN', 'BZPOPMAX']), queueSet, timeout],
      ['BZMPOP', timeout, '1', queueSet, draw.one(['MIN', 'MAX']), 'COUNT', '2'],
    ];
    return draw.one(waits);
  }

  async #one(line: Line, patienceMs?: number): Promise<boolean> {
    const sent = this.#begin([line], false);
    const reply = await this.#asker.ask(line, patienceMs);
    this.#end(sent, reply);
    if (line[0] === 'DUMP' && reply?.kind === 'bulk') this.#remember(reply.bytes);
    return reply !== undefined;
  }

  /** WATCH or not, and a few commands of one partition. */
  #transaction(): Promise<boolean> {
    const draw = this.#draw;
    const first = draw.chance(0.4) ? ['WATCH', draw.anyKey(), draw.anyKey()] : ['PING'];
    const lines = Array.from({ length: draw.number(1, LINES_MAX) }, () => this.#line());
    return this.#transact(first, lines);
  }

  /** `first`, MULTI, the lines, EXEC: on one connection. */
  async #transact(first: Line, lines: readonly Line[]): Promise<boolean> {
    const asker = this.#asker;
    if ((await asker.ask(first))?.kind !== 'simple') return false;
    if ((await asker.askOn(['MULTI']))?.kind !== 'simple') return this.#giveUp();
    const queued = lines.filter(isWellFormed);
    for (const line of queued) {
      if ((await asker.askOn(line))?.kind !== 'simple') return this.#giveUp();
    }
    const sent = this.#begin(queued, true);
    const reply = await asker.askOn(['EXEC']);
    this.#end(sent, reply);
    return reply !== undefined;
  }

  #giveUp(): boolean {
    this.#asker.leave();
    return false;
  }

  #begin(lines: readonly Line[], transaction: boolean): Sent {
    const sent: Sent = {
      client: this.#number,
      lines: lines.map(bytesOf),
      transaction,
      invokedMs: this.#clock.monotonicMs(),
      returnedMs: Number.POSITIVE_INFINITY,
      reply: undefined,
      refused: false,
    };
    this.#sent.push(sent);
    return sent;
  }

  #end(sent: Sent, reply: Reply | undefined): void {
    const meaning = this.#asker.meaning(reply);
    if (meaning === 'unknown') return;
    sent.returnedMs = this.#clock.monotonicMs();
    sent.reply = reply;
    // an EXEC whose watch was broken goes nowhere
    sent.refused = meaning === 'refused' || (sent.transaction && reply?.kind === 'nullArray');
  }

  #remember(payload: Buffer): void {
    const { dumps } = this.#draw;
    dumps.push(payload);
    if (dumps.length > 4) dumps.shift();
  }
}

function bytesOf(line: Line): Buffer[] {
  return line.map((word) => Buffer.from(word as string));
}

/** What is not is answered by the node that has the connection, in any place. */
function isWellFormed(line: Line): boolean {
  const args = bytesOf(line);
  const command = resolveCommand(args);
  return command !== undefined && command.kind !== 'node' && command.prepare(args).ok;
}
