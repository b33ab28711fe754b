/**
 * Commands over all data types, and queues: lists into which every element is pushed once, and from
 * which clients take. Each call is remembered with its times: checkers hold it against the log.
 */
import type { Clock } from '../../src/common/clock.ts';
import type { Random } from '../../src/common/random.ts';
import { resolveCommand } from '../../src/datanode/commands/table.ts';
import type { Reply } from '../../src/datanode/resp/reply.ts';
import { drawRead, drawWrite } from './commands/all.ts';
import { Draw, type Line } from './commands/draw.ts';

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

/** How one client asks, and what its answers mean. */
export interface Asker {
  /** On a connection to any node. */
  ask(line: Line): Promise<Reply | undefined>;
  /** On the connection there is: undefined when it broke. */
  askOn(line: Line): Promise<Reply | undefined>;
  /** Breaks the connection. */
  leave(): void;
  meaning(reply: Reply | undefined): 'known' | 'unknown' | 'refused';
}

export const queueKeys = ['{q}0', '{q}1'];
const WRITES = 0.65;
const LINES_MAX = 4;

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
    return draw.chance(0.15) ? this.#transaction() : this.#one(this.#line());
  }

  /** One command that puts into a queue or takes from one. */
  queue(): Promise<boolean> {
    return this.#one(this.#draw.one([() => this.#push(), () => this.#take()])());
  }

  #line(): Line {
    return this.#draw.chance(WRITES) ? drawWrite(this.#draw) : drawRead(this.#draw);
  }

  #push(): Line {
    const draw = this.#draw;
    const element = () => [`${this.#number}-${++this.#elements}`];
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
    ];
    return draw.one(takes);
  }

  async #one(line: Line): Promise<boolean> {
    const sent = this.#begin([line], false);
    const reply = await this.#asker.ask(line);
    this.#end(sent, reply);
    if (line[0] === 'DUMP' && reply?.kind === 'bulk') this.#remember(reply.bytes);
    return reply !== undefined;
  }

  /** WATCH or not, MULTI, a few commands of one partition, EXEC: on one connection. */
  async #transaction(): Promise<boolean> {
    const asker = this.#asker;
    const draw = this.#draw;
    const first = draw.chance(0.4) ? ['WATCH', draw.anyKey(), draw.anyKey()] : ['PING'];
    if ((await asker.ask(first))?.kind !== 'simple') return false;
    if ((await asker.askOn(['MULTI']))?.kind !== 'simple') return this.#giveUp();
    const lines = Array.from({ length: draw.number(1, LINES_MAX) }, () => this.#line());
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
