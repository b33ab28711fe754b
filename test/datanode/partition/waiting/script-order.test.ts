/** WATCH and scripts, whose changes nobody knows before they are applied. */
import { beforeEach, expect, test } from 'vitest';
import type { ErrorCode } from '../../../../src/common/errors.ts';
import { limits } from '../../../../src/common/limits.ts';
import { encodeExec } from '../../../../src/datanode/commands/transactions/exec-line.ts';
import { findKey } from '../../../../src/datanode/encoding/keyspace/keyspace.ts';
import { storeString } from '../../../../src/datanode/encoding/strings/string.ts';
import { createView, Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { Engine } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import type { CommandLine, LineResult } from '../../../../src/datanode/partition/entries/batch.ts';
import { Watches } from '../../../../src/datanode/partition/waiting/watches.ts';
import { NULL_ARRAY, OK } from '../../../../src/datanode/resp/reply.ts';

let engine: Engine;
let watches: Watches;
/** Names of what was taken on, in order; and how each is answered. */
let taken: string[];
let answers: ((code?: ErrorCode) => void)[];

beforeEach(async () => {
  ({ engine } = await createMemoryHost().open('1-0'));
  [taken, answers] = [[], []];
  watches = new Watches({
    view: () => createView(engine),
    nowMs: () => 1_000,
    besideDueMs: () => 0,
    term: () => 1,
    appliedIndex: () => 0,
    settled: () => true,
    gather: ({ lines }) => {
      taken.push(lines.map(([word, next]) => `${word} ${next}`).join(', '));
      return new Promise((resolve) =>
        answers.push((code) =>
          resolve(
            lines.map(
              (): LineResult =>
                code === undefined ? { ok: true, reply: OK } : { ok: false, code, message: '' },
            ),
          ),
        ),
      );
    },
  });
});

const bytes = (text: string) => Buffer.from(text);
const line = (text: string) => text.split(' ').map(bytes);

function gather(...lines: CommandLine[]): Promise<readonly LineResult[]> {
  const batch = { namespace: 'default', partition: 0, kind: 'write', lines, protocol: 2 } as const;
  return watches.gather({ ...batch, term: undefined, deadlineMs: 0 });
}

const send = (text: string) => void gather(line(text));
const exec = (token: string, ...texts: string[]) =>
  gather(encodeExec(texts.map(line), { token, calls: 1 }));

/** The first of what is not answered is. */
async function answer(code?: ErrorCode): Promise<void> {
  answers.shift()!(code);
  for (let turn = 0; turn < 8; turn++) await Promise.resolve();
}

async function change(key: string): Promise<void> {
  const txn = new Txn(engine);
  txn.beginEntry(1);
  storeString(txn, findKey(txn, bytes(key), 1_000), bytes('v'), 0);
  await engine.write(txn.operations());
  watches.onChanged(txn.changed, true);
}

const nil = [{ ok: true, reply: NULL_ARRAY }];

test('EXEC waits for the scripts before it, and is carried out when they changed something else', async () => {
  send('WATCH t a');
  await answer();
  send('EVAL one');
  send('EVALSHA two');
  const result = exec('t', 'SET out 1');
  await change('other');
  await answer();
  expect(taken).toEqual(['WATCH t', 'EVAL one', 'EVALSHA two']);
  await answer();
  expect(taken.at(-1)).toBe('EXEC t');
  await answer();
  expect((await result)[0]).toEqual({ ok: true, reply: OK });
});

test('it answers nil when one of them has changed what it watches', async () => {
  send('WATCH t a');
  await answer();
  send('KV.ONCE id-of-session 1 1 EVAL s 0');
  const result = exec('t', 'SET out 1');
  await change('a');
  await answer();
  expect(await result).toEqual(nil);
  expect(taken).toHaveLength(2);
});

test('scripts that come meanwhile go behind it; what is no script does not wait', async () => {
  send('WATCH t a');
  await answer();
  send('EVAL one');
  void exec('t', 'SET out 1');
  send('EVAL later');
  send('SET b 1');
  send('EVAL_RO s');
  expect(taken.slice(1)).toEqual(['EVAL one', 'SET b', 'EVAL_RO s']);
  await answer();
  expect(taken.slice(4)).toEqual(['EXEC t', 'EVAL later']);
});

test('of those that wait one may run scripts itself, for which the next waits', async () => {
  for (const token of ['t', 'u', 'v']) {
    send(`WATCH ${token} a`);
    await answer();
  }
  send('EVAL one');
  void exec('t', 'EVAL in-exec 0');
  const second = exec('u', 'SET out 1');
  const third = exec('v', 'EVAL in-exec 0');
  send('EVAL later');
  await answer();
  expect(taken.slice(3)).toEqual(['EVAL one', 'EXEC t']);
  await change('a');
  await answer();
  expect([await second, await third]).toEqual([nil, nil]);
  expect(taken.slice(5)).toEqual(['EVAL later']);
});

test('an EXEC that watches nothing waits for nothing, and counts by the scripts in it', async () => {
  send('WATCH t a');
  await answer();
  void gather(encodeExec([line('EVAL s 0')]));
  void exec('t', 'SET out 1');
  void gather(encodeExec([line('SET b 1')]));
  expect(taken.slice(1)).toEqual(['EXEC ', 'EXEC ']);
  await answer();
  expect(taken.at(-1)).toBe('EXEC t');
});

test('of scripts whose outcome nobody knows anything may have come; of refused ones nothing', async () => {
  for (const [code, isNil] of [
    ['OUTCOME_UNKNOWN', true],
    ['BUSY', false],
  ] as const) {
    send('WATCH t a');
    await answer();
    send('EVAL one');
    const result = exec('t', 'SET out 1');
    await answer(code);
    if (!isNil) await answer();
    expect(await result).toEqual(isNil ? nil : [{ ok: true, reply: OK }]);
  }
});

test('a leader that steps down keeps nobody waiting', async () => {
  send('WATCH t a');
  await answer();
  send('EVAL one');
  const result = exec('t', 'SET out 1');
  send('EVAL later');
  watches.stepDown();
  expect(await result).toEqual(nil);
  expect(taken.at(-1)).toBe('EVAL later');
});

test('no more wait than may wait at a partition', async () => {
  send('WATCH t a');
  await answer();
  send('EVAL one');
  void exec('t', 'SET out 1');
  for (let at = 1; at < limits.proposalsPerPartitionMax; at++) send('EVAL later');
  expect((await gather(line('EVAL beyond')))[0]).toMatchObject({ ok: false, code: 'BUSY' });
});
