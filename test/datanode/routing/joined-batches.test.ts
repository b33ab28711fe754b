import { beforeEach, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { resolveCommand } from '../../../src/datanode/commands/table/table.ts';
import type {
  CommandBatch,
  LineResult,
  PreparedRead,
} from '../../../src/datanode/partition/entries/batch.ts';
import { bulk } from '../../../src/datanode/resp/reply.ts';
import { JoinedBatches } from '../../../src/datanode/routing/joined-batches.ts';
import { company } from './company.ts';

/** What was sent, by its lines. */
let sent: CommandBatch[];
let ends: (() => void)[];
let nowMs: number;
let answer: (batch: CommandBatch) => Promise<readonly LineResult[]>;
let joined: JoinedBatches;
let node: ReturnType<typeof company>;

const words = (line: string) => line.split(' ').map((word) => Buffer.from(word));
/** Each line answers itself. */
const echo = async ({ lines }: CommandBatch): Promise<LineResult[]> =>
  lines.map((line) => ({ ok: true, reply: bulk(Buffer.from(line.join(' '))) }));

beforeEach(() => {
  sent = [];
  ends = [];
  answer = echo;
  nowMs = 0;
  const clock = {
    endOfTurn: (run: () => void) => ends.push(run),
    monotonicMs: () => nowMs,
    wallMs: () => nowMs,
    setTimer: () => ({ cancel: () => {} }),
  };
  node = company(clock);
  joined = new JoinedBatches({ clock, ...node }, (batch) => {
    sent.push(batch);
    return answer(batch);
  });
});

function preparedRead(line: readonly Buffer[]): PreparedRead | undefined {
  const command = resolveCommand(line);
  if (command?.kind !== 'read') return undefined;
  const prepared = command.prepare(line);
  return prepared.ok ? { run: prepared.run, singlePoint: command.singlePoint === true } : undefined;
}

function send(
  kind: 'read' | 'write',
  texts: readonly string[],
  more: Partial<CommandBatch> = {},
): Promise<readonly (string | undefined)[]> {
  const lines = texts.map(words);
  const prepared = lines.map((line) => (kind === 'read' ? preparedRead(line) : undefined));
  const place = { namespace: 'default', partition: 0, group: 10, term: undefined } as const;
  const batch = { ...place, kind, lines, prepared, protocol: 2, deadlineMs: 500, ...more } as const;
  return joined.send(batch).then((results) =>
    results.map((result) => {
      if (!result.ok) return result.code;
      return result.reply.kind === 'bulk' ? result.reply.bytes.toString() : undefined;
    }),
  );
}

const endTurn = () => {
  for (const run of ends.splice(0)) run();
};
/** And what was sent in it is answered. */
const turned = async () => {
  endTurn();
  await new Promise(setImmediate);
};
const sentLines = () => sent.map(({ lines }) => lines.map((line) => line.join(' ')));

test('what comes in within a turn is sent as one, and each hears of its own lines', async () => {
  const answers = Promise.all([
    send('write', ['SET a 1', 'SET b 2']),
    send('write', ['INCR c'], { deadlineMs: 300 }),
    send('write', ['SET d 4']),
  ]);
  expect(sent).toEqual([]);
  endTurn();
  expect(sentLines()).toEqual([['SET a 1', 'SET b 2', 'INCR c', 'SET d 4']]);
  // each connection minds its own deadline: none is given up for another's
  expect(sent[0]).toMatchObject({ kind: 'write', group: 10, deadlineMs: 500 });
  expect(await answers).toEqual([['SET a 1', 'SET b 2'], ['INCR c'], ['SET d 4']]);
  nowMs = 2;
  void send('write', ['SET e 5']);
  endTurn();
  expect(sentLines()[1]).toEqual(['SET e 5']);
});

test('reads, writes, groups and protocols go apart', async () => {
  const answers = Promise.all([
    send('write', ['SET a 1']),
    send('read', ['GET a']),
    send('read', ['GET b'], { protocol: 3 }),
    send('read', ['GET c'], { group: 11, partition: 1 }),
    send('read', ['GET d']),
  ]);
  endTurn();
  expect(sentLines()).toEqual([['SET a 1'], ['GET a', 'GET d'], ['GET b'], ['GET c']]);
  expect(sent[1]!.prepared).toHaveLength(2);
  expect(await answers).toEqual([['SET a 1'], ['GET a'], ['GET b'], ['GET c'], ['GET d']]);
});

test('reads of several values are joined with each other', async () => {
  const answers = Promise.all([
    send('read', ['MGET a b']),
    send('read', ['GET a']),
    send('read', ['HGET h f', 'GET c']),
    send('read', ['HGET h f', 'HGETALL h']),
    send('read', ['GET b']),
    send('write', ['MSET a 1 b 2']),
    send('write', ['SET c 3', 'MSETNX d 4 e 5']),
  ]);
  endTurn();
  expect(sentLines()).toEqual([
    ['HGET h f', 'HGETALL h'],
    ['MGET a b', 'HGET h f', 'GET c'],
    ['GET a', 'GET b'],
    ['MSET a 1 b 2', 'SET c 3', 'MSETNX d 4 e 5'],
  ]);
  expect((await answers)[2]).toEqual(['HGET h f', 'GET c']);
});

test('by themselves go a range, a large batch, what gives data back, EXEC, and who asks for places', () => {
  void send('read', ['SMEMBERS s']);
  void send('write', ['FLUSHALL']);
  void send('write', ['LPOP list']);
  void send('write', ['SET a 1 EX 10 get']);
  void send('write', ['EXEC token 1 body']);
  void send('write', ['KV.ONCE session 1 1 EXEC token 1 body']);
  void send('write', ['SET a 1'], { group: undefined });
  void send('write', ['SET a 1'], { witness: true });
  void send('write', [`SET a ${'x'.repeat(limits.joinedBytesMax / 2)}`]);
  void send(
    'write',
    Array.from({ length: limits.joinedLinesMax.write / 2 + 1 }, () => 'INCR c'),
  );
  expect(sent).toHaveLength(10);
  expect(ends).toEqual([]);
});

test('so many commands, and so many bytes, at most', async () => {
  for (let at = 0; at < limits.joinedLinesMax.write + 2; at++) void send('write', [`INCR ${at}`]);
  const large = 'x'.repeat(limits.joinedBytesMax / 3);
  for (let at = 0; at < 4; at++) void send('write', [`SET large ${large}`], { group: 11 });
  endTurn();
  const counts = (group: number) =>
    sent.filter((batch) => batch.group === group).map(({ lines }) => lines.length);
  expect(counts(10)).toEqual([limits.joinedLinesMax.write]);
  await turned();
  nowMs = 2;
  await turned();
  expect(counts(10)).toEqual([limits.joinedLinesMax.write, 2]);
  expect(counts(11)).toEqual([2, 2]);
});

/** Two lines at most are answered. */
const cut = async (batch: CommandBatch): Promise<LineResult[]> =>
  (await echo(batch)).map((result, at) =>
    at < 2 ? result : { ok: false, code: 'BUSY', message: 'full' },
  );

test('who is cut off because others’ replies are large is asked for again, by itself', async () => {
  answer = cut;
  const answers = Promise.all([
    send('read', ['GET a']),
    send('read', ['GET b', 'GET c']),
    send('read', ['GET d', 'GET e']),
  ]);
  endTurn();
  expect(await answers).toEqual([['GET a'], ['GET b', 'BUSY'], ['GET d', 'GET e']]);
  expect(sentLines()[1]).toEqual(['GET d', 'GET e']);
  // full from the first line on: that is another thing, and each connection waits
  answer = async ({ lines }) => lines.map(() => ({ ok: false, code: 'BUSY', message: 'full' }));
  const full = Promise.all([send('read', ['GET a']), send('read', ['GET b'])]);
  endTurn();
  expect(await full).toEqual([['BUSY'], ['BUSY']]);
  expect(sent).toHaveLength(3);
});

test('reads of a group that answers much go apart for a second, and hold no memory in common', async () => {
  const frame = Buffer.alloc(2 * limits.joinedBytesMax, 'x');
  const replies: LineResult[] = [
    { ok: true, reply: { kind: 'encoded', bytes: frame.subarray(0, limits.joinedBytesMax) } },
    { ok: true, reply: { kind: 'encoded', bytes: frame.subarray(limits.joinedBytesMax) } },
  ];
  answer = async () => replies;
  const lines = [words('GET a')];
  const place = { namespace: 'default', partition: 0, group: 10, term: undefined } as const;
  const batch = { ...place, kind: 'read', lines, protocol: 2, deadlineMs: 500 } as const;
  const both = Promise.all([joined.send(batch), joined.send(batch)]);
  endTurn();
  for (const [result] of await both) {
    expect(result).toEqual(replies[0]);
    const bytes = result?.ok && result.reply.kind === 'encoded' ? result.reply.bytes : frame;
    expect(bytes.buffer).not.toBe(frame.buffer);
  }
  void joined.send(batch);
  expect(sent).toHaveLength(2);
  nowMs = 1_000;
  void joined.send(batch);
  expect(sent).toHaveLength(2);
  expect(ends).toHaveLength(1);
});

test('a failure of the whole is everybody’s', async () => {
  answer = () => Promise.reject(new Error('torn'));
  const torn = Promise.allSettled([send('write', ['INCR a']), send('write', ['INCR b'])]);
  endTurn();
  expect((await torn).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

/** A group that this node leads. */
function ledHere() {
  const turner = {
    left: 0,
    turn: () => {
      if (!companion.mayLeave()) return;
      turner.left++;
      companion.note(0, 1);
    },
    fail: () => {},
  };
  const companion = node.cohorts.join(() => node.turns.request(turner));
  const come = () => {
    companion.note(1, 0);
    node.turns.request(turner);
  };
  return { turner, come, answer: () => companion.note(0, 0) };
}

test('writes leave with the entries of the groups that this node leads', async () => {
  const { turner, come, answer: answerHere } = ledHere();
  come();
  endTurn();
  expect(turner.left).toBe(1);
  void send('write', ['SET a 1']);
  void send('read', ['GET a']);
  await turned();
  expect(sentLines()).toEqual([['GET a']]);
  nowMs = 1;
  answerHere();
  void send('write', ['SET b 2'], { group: 11 });
  come();
  // the first that may leave takes the others along, in the same turn
  await turned();
  expect(sentLines().slice(1)).toEqual([['SET a 1'], ['SET b 2']]);
  expect(turner.left).toBe(2);
});

test('what was sent and is not answered is waited for by what comes', async () => {
  let settle = () => {};
  answer = (batch) =>
    new Promise((resolve) => {
      settle = () => resolve(echo(batch));
    });
  void send('write', ['SET a 1']);
  endTurn();
  void send('write', ['SET b 2']);
  await turned();
  expect(sentLines()).toEqual([['SET a 1']]);
  settle();
  await turned();
  void send('write', ['SET c 3'], { group: 11 });
  await turned();
  expect(sentLines().slice(1)).toEqual([['SET b 2'], ['SET c 3']]);
});

test('a node that stops sends what waits, and joins nothing any more', async () => {
  const { come } = ledHere();
  come();
  endTurn();
  const waiting = send('write', ['SET a 1']);
  await turned();
  expect(sent).toEqual([]);
  joined.close();
  expect(await waiting).toEqual(['SET a 1']);
  void send('write', ['SET b 2']);
  expect(sentLines()).toEqual([['SET a 1'], ['SET b 2']]);
});

test('a turn that throws is the failure of those who waited for it', async () => {
  const torn = new Error('torn');
  answer = () => {
    throw torn;
  };
  const lost = send('write', ['SET a 1']);
  endTurn();
  await expect(lost).rejects.toBe(torn);
});
