/** Scripts at a group of three replicas: who waits, who watches, who listens. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { encodeExec } from '../../../../src/datanode/commands/transactions/exec-line.ts';
import type { CommandLine } from '../../../../src/datanode/partition/entries/batch.ts';
import type { WaitOutcome } from '../../../../src/datanode/partition/entries/wait.ts';
import type { Replica } from '../../../../src/datanode/partition/replica/replica.ts';
import { decodeReply } from '../../../../src/datanode/resp/decode-reply.ts';
import { eventually } from '../../../cluster/cluster.ts';
import { batchOf, Trio, textOf } from '../trio.ts';

let trio: Trio;
let leader: Replica;

beforeEach(async () => {
  trio = new Trio({ electionTicks: 30 });
  await Promise.all(['n1', 'n2', 'n3'].map((node) => trio.start(node)));
  leader = await trio.leader();
});

afterEach(() => trio.destroy(), 30_000);

const line = (text: string): CommandLine => text.split(' ').map((word) => Buffer.from(word));
const script = (body: string, ...keys: string[]): CommandLine =>
  ['EVAL', body, `${keys.length}`, ...keys].map((word) => Buffer.from(word));

async function write(...lines: CommandLine[]): Promise<string[]> {
  const results = await leader.execute({ ...batchOf('write', []), lines });
  return results.map(textOf);
}

async function wait(id: string, text: string): Promise<string> {
  const outcome = await leader.wait({
    id: Buffer.from(id),
    line: line(text),
    protocol: 2,
    withdraw: false,
  });
  return given(outcome);
}

function given(outcome: WaitOutcome): string {
  if (outcome.kind !== 'served' || outcome.reply.kind !== 'encoded') return outcome.kind;
  const reply = decodeReply(outcome.reply.bytes);
  if (reply.kind === 'bulk') return String(reply.bytes);
  if (reply.kind !== 'array') return reply.kind;
  return reply.items.map((item) => (item.kind === 'bulk' ? item.bytes : item.kind)).join(' ');
}

/** Who has asked is registered, and what was there has been looked at. */
const settled = () => trio.run('read', 'EXISTS nothing');

test('who waits is served by what a script pushes, named or not, and nobody sees it in between', async () => {
  const waits = [
    wait('1', 'BLPOP named 0'),
    wait('2', 'BZPOPMIN other 0'),
    wait('3', 'BLMOVE third fourth LEFT RIGHT 0'),
    wait('4', 'BLPOP fourth 0'),
  ];
  await settled();
  const body =
    "redis.call('rpush', KEYS[1], 'a', 'b') redis.call('zadd', 'other', 1, 'm') " +
    "redis.call('rpush', 'third', 'c') return redis.call('llen', KEYS[1])";
  const results = await write(
    script(body, 'named'),
    line('LPOP named'),
    script("return redis.call('exists', 'other', 'third')"),
  );
  expect(results).toEqual([':2', '$1\r\nb', ':0']);
  expect(await Promise.all(waits)).toEqual(['named a', 'other m 1', 'c', 'fourth c']);
  expect(await trio.run('read', 'EXISTS named', 'EXISTS other', 'EXISTS fourth')).toEqual([
    ':0',
    ':0',
    ':0',
  ]);
});

test('whom the entry of a script does not carry is served by the next', async () => {
  const many = Array.from({ length: 200 }, (_, at) => wait(`w${at}`, `BLPOP k${at} 0`));
  await settled();
  const body = "for at = 0, 199 do redis.call('rpush', 'k' .. at, at) end return 'done'";
  expect(await write(script(body))).toEqual(['$4\r\ndone']);
  expect(await Promise.all(many)).toEqual(many.map((_, at) => `k${at} ${at}`));
  expect(await trio.run('read', 'DBSIZE')).toEqual([':0']);
});

test('EXEC after WATCH waits for scripts, and knows what they changed', async () => {
  const watched = async (body: string) => {
    await write(line('WATCH t a'));
    const running = write(script(body));
    const exec = write(encodeExec([line('SET out 1')], { token: 't', calls: 1 }));
    await running;
    return exec;
  };
  const long = 'local n = 0 for at = 1, 200000 do n = n + at end ';
  expect(await watched(`${long} return redis.call('set', 'b', 1)`)).not.toEqual(['nil']);
  expect(await trio.run('read', 'GET out')).toEqual(['$1\r\n1']);
  await write(line('DEL out'));
  const [broken] = await watched(`${long} return redis.call('set', 'a', 1)`);
  expect(await trio.run('read', 'EXISTS out')).toEqual([':0']);
  expect(broken).toMatch(/nil|null/i);
});

test('what a script publishes is told once, by the leader', async () => {
  const node = `n${leader.id}`;
  const body = "return redis.call('publish', 'c', 'one') + redis.call('spublish', 's', 'two')";
  expect(await write(script(body))).toEqual([':0']);
  await eventually(10_000, 'both are told', () => trio.published.length >= 2);
  await eventually(10_000, 'all have applied it', () =>
    [...trio.hosts.values()].every(
      (host) => host.local('default', 0)!.appliedIndex === leader.appliedIndex,
    ),
  );
  expect(trio.published).toEqual([`${node}: c=one`, `${node}: s=two`]);
});

test('a script does not begin behind commands that have put too much', async () => {
  const heavy = "for at = 1, 17 do redis.call('setrange', 'k', 8000000, 'x') end return 1";
  const [reply] = await write(
    encodeExec([script(heavy), script("return redis.call('set', 'a', 1)")]),
  );
  expect(reply).toMatch(/commands before the script in its entry .* nothing happened/);
  expect(await trio.run('read', 'EXISTS a')).toEqual([':0']);
});
