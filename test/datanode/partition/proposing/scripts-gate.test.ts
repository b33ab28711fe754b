/** Scripts in a group of which a node runs a build that knows none. */
import { afterEach, expect, test } from 'vitest';
import { applyVersions } from '../../../../src/datanode/commands/rows/apply-versions.ts';
import { encodeExec } from '../../../../src/datanode/commands/transactions/exec-line.ts';
import type { CommandLine } from '../../../../src/datanode/partition/entries/batch.ts';
import { batchOf, Trio, textOf } from '../trio.ts';

let trio: Trio;

afterEach(() => trio.destroy());

const line = (...words: string[]): CommandLine => words.map((word) => Buffer.from(word));

test('all that changes by them is refused, and the node is named; what reads is answered', async () => {
  trio = new Trio({ electionTicks: 30 });
  for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
  const { scripts } = applyVersions;
  for (const host of trio.hosts.values()) {
    host.setBuilds(new Map(Object.entries({ n1: scripts, n2: scripts, n3: scripts - 1 })));
  }
  const leader = await trio.leader();
  await trio.run('write', 'KV.SESSION OPEN id-of-session k');
  const lines = [
    line('EVAL', "return redis.call('set', 'a', 1)", '0'),
    line('EVALSHA', '0'.repeat(40), '0'),
    line('SCRIPT', 'LOAD', 'return 1'),
    line('SCRIPT', 'FLUSH'),
    line('KV.ONCE', 'id-of-session', '1', '1', 'EVAL', 'return 1', '1', 'k'),
    encodeExec([line('SET', 'b', '1'), line('EVAL', 'return 1', '0')]),
    line('SET', 'c', '1'),
  ];
  const results = await Promise.all(
    lines.map((one) => leader.execute({ ...batchOf('write', []), lines: [one] })),
  );
  const texts = results.map(([result]) => textOf(result!));
  for (const text of texts.slice(0, -1)) {
    expect(text).toMatch(
      /ERR '\S+' as it is asked for here is not known to n3, which has a replica/,
    );
  }
  expect(texts.at(-1)).toMatch(/OK/);
  expect(await trio.run('read', 'EXISTS a b c')).toEqual([':1']);
  expect(await trio.run('read', 'SCRIPT EXISTS x')).toEqual([expect.stringContaining('"value":0')]);
});

test('what they run is known to them when all members know it', async () => {
  trio = new Trio({ electionTicks: 30 });
  for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
  const { scripts, streams } = applyVersions;
  const buildsAre = (versions: Record<string, number>) => {
    for (const host of trio.hosts.values()) host.setBuilds(new Map(Object.entries(versions)));
  };
  buildsAre({ n1: streams, n2: streams, n3: scripts });
  const leader = await trio.leader();
  const add = line('EVAL', "return redis.call('xadd', 's', '1-1', 'f', 'v')", '0');
  const text = async (one: CommandLine) => {
    const [result] = await leader.execute({ ...batchOf('write', []), lines: [one] });
    return textOf(result!);
  };
  expect(await text(add)).toMatch(/Unknown Redis command called from script/);
  expect(await text(encodeExec([line('SET', 'b', '1'), add]))).toMatch(/Unknown Redis command/);
  expect(await text(line('EVAL', "return redis.call('set', 'a', 1)", '0'))).toMatch(/OK/);
  buildsAre({ n1: streams, n2: streams, n3: streams });
  expect(await text(add)).toMatch(/1-1/);
  const next = line('EVAL', "return redis.call('xadd', 's', '1-2', 'f', 'v')", '0');
  expect(await text(encodeExec([line('SET', 'b', '1'), next]))).toMatch(/49,45,50/);
});
