/**
 * Blocking commands of several clients, to a whole node and to a stock redis-server: who is served,
 * in which order and with what, who stays blocked, and what ends that, byte for byte.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Protocol } from '../../src/datanode/resp/reply.ts';
import { hasRedis } from '../datanode/commands/real-redis.ts';
import { scale } from '../scale.ts';
import { besideRedis, openNode } from './beside-redis.ts';
import { Oracle } from './oracle.ts';
import { compareSequences, SEQUENCES_TIMEOUT_MS } from './sequences.ts';
import { words, wordsAndMore } from './words.ts';

const CLIENTS = 5;
const WAIT_MS = 5_000;

/** All of one slot. */
const KEYS = ['{t}1', '{t}2', '{t}3'];
const key = fc.constantFrom(...KEYS);
const member = fc.constantFrom('a', 'b', 'c', 'd');
const score = fc.constantFrom('1', '-2.5', '3', 'inf');
const end = fc.constantFrom('LEFT', 'RIGHT');
const extreme = fc.constantFrom('MIN', 'MAX');
const count = fc.constantFrom('1', '2', '5');
/** For ever, or a moment; those that are wrong. */
const time = fc.oneof(
  { weight: 12, arbitrary: fc.constant('0') },
  fc.constantFrom('0.01', '.02', '1e-3', '0x0.04p0', '-0.0001'),
  fc.constantFrom('-1', '-0.5', 'soon', '', '-inf', 'nan', '1e5000', '1 '),
);

const several = (name: string) =>
  fc
    .tuple(fc.array(key, { minLength: 1, maxLength: 3 }), time)
    .map(([keys, timeout]) => [name, ...keys, timeout]);

const counted = (name: string, where: fc.Arbitrary<string>) =>
  fc
    .tuple(time, fc.array(key, { minLength: 1, maxLength: 3 }), where, fc.option(count))
    .map(([timeout, keys, at, many]) => [
      ...[name, timeout, String(keys.length), ...keys, at],
      ...(many === null ? [] : ['COUNT', many]),
    ]);

/** In milliseconds. */
const block = fc.oneof(
  { weight: 12, arbitrary: fc.constant('0') },
  fc.constantFrom('10', '-1', 'soon', '1.5'),
);
const group = fc.constantFrom('g', 'h');
const consumer = fc.constantFrom('c', 'd');
const options = fc.option(count).map((many) => (many === null ? [] : ['COUNT', many]));
const streamsOf = (id: fc.Arbitrary<string>) =>
  fc
    .array(fc.tuple(key, id), { minLength: 1, maxLength: 2 })
    .map((pairs) => ['STREAMS', ...pairs.map(([of]) => of), ...pairs.map(([, from]) => from)]);
const reading = fc
  .tuple(options, block, streamsOf(fc.constantFrom('$', '$', '0', '5', '12-1', 'x')))
  .map(([some, time, streams]) => ['XREAD', ...some, 'BLOCK', time, ...streams]);
const groupReading = fc
  .tuple(
    group,
    consumer,
    options,
    block,
    fc.boolean(),
    streamsOf(fc.constantFrom('>', '>', '>', '>', '0')),
  )
  .map(([of, who, some, time, noAck, streams]) => [
    ...['XREADGROUP', 'GROUP', of, who, ...some, 'BLOCK', time],
    ...(noAck ? ['NOACK'] : []),
    ...streams,
  ]);

const blocking = fc.oneof(
  { weight: 4, arbitrary: several('BLPOP') },
  { weight: 2, arbitrary: several('BRPOP') },
  { weight: 4, arbitrary: words('BLMOVE', key, key, end, end, time) },
  words('BRPOPLPUSH', key, key, time),
  { weight: 2, arbitrary: counted('BLMPOP', end) },
  { weight: 2, arbitrary: several('BZPOPMIN') },
  several('BZPOPMAX'),
  { weight: 2, arbitrary: counted('BZMPOP', extreme) },
  { weight: 3, arbitrary: reading },
  { weight: 5, arbitrary: groupReading },
  // wrong ones
  words('BLPOP', key),
  words('BLMOVE', key, key, 'UP', end, fc.constantFrom('0', 'x')),
  words('BLMPOP', fc.constantFrom('0', '-1'), fc.constantFrom('0', '2', 'x'), key, end),
  words('BZMPOP', '0', '1', key, 'LOW'),
);

const plain = fc.oneof(
  { weight: 6, arbitrary: wordsAndMore(['RPUSH', key, member], member, 3) },
  { weight: 3, arbitrary: wordsAndMore(['LPUSH', key, member], member, 3) },
  { weight: 4, arbitrary: words('ZADD', key, score, member) },
  { weight: 2, arbitrary: words('ZADD', key, '1', 'a', '2', 'b', '3', 'c') },
  { weight: 2, arbitrary: words('DEL', key) },
  { weight: 2, arbitrary: words('RENAME', key, key) },
  { weight: 2, arbitrary: words('LMOVE', key, key, end, end) },
  { weight: 8, arbitrary: words('XADD', key, fc.nat({ max: 30 }).map(String), 'f', member) },
  {
    weight: 5,
    arbitrary: words('XGROUP', 'CREATE', key, group, fc.constantFrom('$', '0'), 'MKSTREAM'),
  },
  words('XGROUP', 'DESTROY', key, group),
  words('XACK', key, group, '5-0', '12-0'),
  words('XPENDING', key, group),
  words('COPY', key, key),
  words('LPOP', key),
  words('ZPOPMIN', key),
  words('SET', key, 'string'),
  words('LRANGE', key, '0', '-1'),
  words('TYPE', key),
);

type Line = readonly string[];
type Action =
  | { readonly kind: 'one'; readonly line: Line }
  | { readonly kind: 'multi'; readonly lines: readonly Line[] }
  | { readonly kind: 'unblock'; readonly target: number; readonly reason: readonly string[] }
  /** In a pipeline, or in a transaction with something before the KILL as well. */
  | {
      readonly kind: 'kill';
      readonly target: number;
      readonly inMulti: boolean;
      readonly before: Line;
      readonly behind: Line;
    };

/** What is stored in the place of something else wakes nobody there (exceptions.ts). */
const store = fc
  .tuple(fc.constantFrom('SORT', 'ZUNIONSTORE'), key, key)
  .map(([name, to, from]) => [
    ['DEL', to],
    name === 'SORT' ? [name, from, 'ALPHA', 'STORE', to] : [name, to, '1', from],
  ]);

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 6, arbitrary: blocking.map((line) => ({ kind: 'one', line }) as const) },
  { weight: 6, arbitrary: plain.map((line) => ({ kind: 'one', line }) as const) },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.oneof({ weight: 5, arbitrary: plain }, blocking), { minLength: 1, maxLength: 5 })
      .map((lines) => ({ kind: 'multi', lines }) as const),
  },
  store.map((lines) => ({ kind: 'multi', lines }) as const),
  fc.record({
    kind: fc.constant('unblock' as const),
    target: fc.nat({ max: CLIENTS - 1 }),
    reason: fc.constantFrom([], ['TIMEOUT'], ['ERROR'], ['error'], ['WHY']),
  }),
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('kill' as const),
      target: fc.nat({ max: CLIENTS - 1 }),
      inMulti: fc.boolean(),
      before: plain,
      behind: plain,
    }),
  },
);
const step = fc.record({ on: fc.nat({ max: CLIENTS - 1 }), action });
type Step = { readonly on: number; readonly action: Action };

const KILL: Line = ['CLIENT', 'KILL'];

const bytesOf = (line: Line) => line.map((word) => Buffer.from(word));
const textOf = (reply: Buffer) => reply.toString('latin1');

/** One server with several clients: what each was answered, and how much is still open. */
class Side {
  readonly replies: string[][] = [];
  readonly #clients: Oracle[];
  readonly #connect: () => Promise<Oracle>;
  readonly #control: Oracle;
  readonly #sent: number[];
  #ids: number[] = [];

  private constructor(connect: () => Promise<Oracle>, control: Oracle, clients: Oracle[]) {
    this.#connect = connect;
    this.#control = control;
    this.#clients = clients;
    this.#sent = clients.map(() => 0);
  }

  static async open(to: string | number, protocol: Protocol): Promise<Side> {
    const connect = () => Oracle.connect(to, protocol);
    const side = new Side(
      connect,
      await connect(),
      await Promise.all(Array.from({ length: CLIENTS }, connect)),
    );
    side.#ids = await Promise.all(side.#clients.map(idOf));
    return side;
  }

  async begin(): Promise<void> {
    await this.#control.call(bytesOf(['FLUSHALL']));
    this.replies.length = 0;
    for (const at of this.#clients.keys()) {
      this.replies.push([]);
      this.#sent[at] = 0;
    }
  }

  /** Everybody who is blocked is released, and says with what. */
  async finish(): Promise<void> {
    for (const at of this.#clients.keys()) if (this.isOpen(at)) await this.unblock(at, []);
  }

  send(on: number, line: Line): void {
    this.#sent[on]!++;
    const replies = this.replies[on]!;
    void this.#clients[on]!.call(bytesOf(line)).then((reply) => replies.push(textOf(reply)));
  }

  async unblock(target: number, reason: readonly string[]): Promise<string> {
    const line = ['CLIENT', 'UNBLOCK', String(this.#ids[target]), ...reason];
    return textOf(await this.#control.call(bytesOf(line)));
  }

  /** What the lines are answered, where KILL is the target's; another client takes its place. */
  async kill(target: number, lines: readonly Line[]): Promise<readonly string[]> {
    const kill = ['CLIENT', 'KILL', 'ID', String(this.#ids[target])];
    const sent = lines.map((line) => bytesOf(line === KILL ? kill : line));
    const replies = (await this.#control.callAll(sent)).map(textOf);
    this.#clients[target]!.close();
    const next = await this.#connect();
    this.#clients[target] = next;
    this.#ids[target] = await idOf(next);
    this.#sent[target] = this.replies[target]!.length;
    return replies;
  }

  isOpen(on: number): boolean {
    return this.replies[on]!.length < this.#sent[on]!;
  }

  /** All that what was sent leads to, but for time, has been. */
  async settle(on: number): Promise<void> {
    const list = bytesOf(['CLIENT', 'LIST', 'ID', String(this.#ids[on])]);
    await eventually(async () => {
      if (!this.isOpen(on)) return true;
      const line = textOf(await this.#control.call(list));
      return /flags=\w*b/.test(line);
    });
    for (let times = 0; times < 3; times++) await this.#control.call(bytesOf(['GET', '{t}none']));
  }

  close(): void {
    for (const one of [this.#control, ...this.#clients]) one.close();
  }
}

async function idOf(client: Oracle): Promise<number> {
  return Number(textOf(await client.call(bytesOf(['CLIENT', 'ID']))).slice(1));
}

async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const endMs = Date.now() + WAIT_MS; Date.now() < endMs; ) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

async function perform(ours: Side, theirs: Side, { on, action }: Step): Promise<number> {
  if (action.kind === 'unblock') {
    const { target, reason } = action;
    const [mine, other] = [
      await ours.unblock(target, reason),
      await theirs.unblock(target, reason),
    ];
    expect(mine, `UNBLOCK ${target} ${reason.join()}`).toBe(other);
    await agree(ours, theirs, `UNBLOCK ${target}`);
    return 1;
  }
  if (action.kind === 'kill') return performKill(ours, theirs, action);
  if (theirs.isOpen(on)) return 0;
  const lines = action.kind === 'one' ? [action.line] : [['MULTI'], ...action.lines, ['EXEC']];
  for (const line of lines) for (const side of [theirs, ours]) side.send(on, line);
  await Promise.all([theirs.settle(on), ours.settle(on)]);
  const shown = `${on}: ${lines.map((line) => line.join(' ')).join('; ')}`;
  const waits = action.kind === 'one' && isBrief(action.line);
  if (waits) await eventually(() => !theirs.isOpen(on) && !ours.isOpen(on));
  await agree(ours, theirs, shown);
  return lines.length;
}

/** What is pushed before the KILL in the same transaction is not for who is killed; outside of one it may be. */
async function performKill(
  ours: Side,
  theirs: Side,
  { target, inMulti, before, behind }: Extract<Action, { readonly kind: 'kill' }>,
): Promise<number> {
  const commands = inMulti ? [['MULTI'], before, KILL, behind, ['EXEC']] : [KILL, behind];
  const lines = [...commands, ...KEYS.map((name) => ['LRANGE', name, '0', '-1'])];
  const [mine, other] = [await ours.kill(target, lines), await theirs.kill(target, lines)];
  const shown = `KILL ${target}: ${lines.map((line) => line.join(' ')).join('; ')}`;
  expect(mine, shown).toEqual(other);
  await Promise.all([theirs.settle(target), ours.settle(target)]);
  await agree(ours, theirs, shown);
  return lines.length;
}

/** It ends by itself soon, while nothing else happens. */
function isBrief(line: Line): boolean {
  return line.some((word) => ['0.01', '.02', '1e-3', '0x0.04p0'].includes(word));
}

async function agree(ours: Side, theirs: Side, what: string): Promise<void> {
  const answered = (side: Side) => side.replies.map(({ length }) => length).join();
  await eventually(() => answered(ours) === answered(theirs));
  expect(JSON.stringify(toldAs7(ours, theirs)), what).toBe(JSON.stringify(theirs.replies));
}

/** What 7.0 tells a consumer whose key or group goes, and what one is told from 7.2 on (exceptions.ts). */
const GONE: readonly (readonly [before: string, since: RegExp])[] = [
  [
    '-UNBLOCKED the stream key no longer exists\r\n',
    /^-(?:NOGROUP No such key '.*' or consumer group '.*' in XREADGROUP|WRONGTYPE )/,
  ],
  [
    '-NOGROUP the consumer group this client was blocked on no longer exists\r\n',
    /^-NOGROUP No such key '.*' or consumer group '.*' in XREADGROUP/,
  ],
];

/** Of a stream, in the one row that 7.0 gives who wakes in XREAD; from 7.2 on all of its keys have theirs. */
const ONE_ROW =
  /^[*%]1\r\n((?:\*2\r\n)?\$\d+\r\n\{t\}\d\r\n\*\d+\r\n\*2\r\n\$\d+\r\n\d+-\d+\r\n.*)$/s;

function hasRowOf(reply: string, other = ''): boolean {
  const row = ONE_ROW.exec(other)?.[1];
  return row !== undefined && /^[*%]2\r\n/.test(reply) && reply.includes(row);
}

/** Our replies, in the words of 7.0 where these differ as known. */
function toldAs7(ours: Side, theirs: Side): string[][] {
  return ours.replies.map((replies, on) =>
    replies.map((reply, at) => {
      const other = theirs.replies[on]![at];
      const isSame = GONE.some(([before, since]) => before === other && since.test(reply));
      return isSame || hasRowOf(reply, other) ? other! : reply;
    }),
  );
}

describe.skipIf(!hasRedis)('clients that block as redis-server lets them', () => {
  const servers = besideRedis(openNode);

  test.each([2, 3] as const)(
    'RESP%i',
    async (protocol) => {
      const theirs = await Side.open(servers.theirs, protocol);
      const ours = await Side.open(servers.ours, protocol);
      const name = `blocking, RESP${protocol}`;
      await compareSequences(name, step, scale.blockingCommands / 2, async (steps) => {
        let commands = 0;
        for (const side of [ours, theirs]) await side.begin();
        try {
          for (const one of steps) commands += await perform(ours, theirs, one);
        } finally {
          for (const side of [ours, theirs]) await side.finish();
        }
        await agree(ours, theirs, 'the end');
        return commands;
      });
      for (const side of [ours, theirs]) side.close();
    },
    SEQUENCES_TIMEOUT_MS,
  );
});
