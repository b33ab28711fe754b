import { beforeEach, describe, expect, test } from 'vitest';
import type { ErrorCode } from '../../../../src/common/errors.ts';
import { limits } from '../../../../src/common/limits.ts';
import {
  BROKEN_EXEC,
  encodeExec,
} from '../../../../src/datanode/commands/transactions/exec-line.ts';
import {
  openCollection,
  saveCollection,
} from '../../../../src/datanode/encoding/collections/collection.ts';
import {
  openHash,
  saveHash,
  setField,
  setFieldDeadline,
} from '../../../../src/datanode/encoding/hashes/hash.ts';
import {
  findKey,
  removeKey,
  setDeadline,
} from '../../../../src/datanode/encoding/keyspace/keyspace.ts';
import { encodeMemberKey } from '../../../../src/datanode/encoding/records/element-key.ts';
import { tags } from '../../../../src/datanode/encoding/records/tags.ts';
import { storeString } from '../../../../src/datanode/encoding/strings/string.ts';
import { createView, Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { Engine } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import type { CommandBatch, LineResult } from '../../../../src/datanode/partition/entries/batch.ts';
import { Watches } from '../../../../src/datanode/partition/waiting/watches.ts';
import { NULL_ARRAY, OK, type Reply } from '../../../../src/datanode/resp/reply.ts';

let engine: Engine;
let watches: Watches;
let term = 1;
let nowMs = 1_000;
let besideDueMs = 0;
let gathered: CommandBatch[] = [];
/** Answers what was gathered and is still on its way. */
let settle: (() => void)[] = [];
let index = 0;
/** How the next batch ends, at once. */
let failNext: ErrorCode | undefined;
/** As batches of many changes are taken. */
let inSteps = false;
/** Nothing is on its way when a watch begins. */
let settled = true;
/** Of records, by the watches. */
let reads = 0;
/** What the log answers. */
let answer: Reply = OK;

beforeEach(async () => {
  ({ engine } = await createMemoryHost().open('1-0'));
  [term, nowMs, gathered, settle, index, settled, reads] = [1, 1_000, [], [], 0, true, 0];
  answer = OK;
  watches = new Watches({
    view: () => {
      const view = createView(engine);
      return {
        get: (key) => {
          reads++;
          return view.get(key);
        },
      };
    },
    nowMs: () => nowMs,
    besideDueMs: () => besideDueMs,
    term: () => term,
    appliedIndex: () => index,
    settled: () => settled,
    gather: (batch) => {
      gathered.push(batch);
      if (failNext !== undefined) {
        const failed = { ok: false, code: failNext, message: '' } as const;
        failNext = undefined;
        return Promise.resolve(batch.lines.map(() => failed));
      }
      const results: LineResult[] = batch.lines.map(() => ({ ok: true, reply: answer }));
      return new Promise((resolve) => settle.push(() => resolve(results)));
    },
  });
});

const bytes = (text: string) => Buffer.from(text);

function gather(...lines: (readonly Buffer[])[]): Promise<readonly LineResult[]> {
  return gatherOnce(undefined, ...lines);
}

function gatherOnce(
  once: CommandBatch['once'],
  ...lines: (readonly Buffer[])[]
): Promise<readonly LineResult[]> {
  return watches.gather({
    ...(once && { once }),
    namespace: 'default',
    partition: 0,
    kind: 'write',
    lines,
    protocol: 2,
    term: undefined,
    deadlineMs: 0,
  });
}

const line = (text: string) => text.split(' ').map(bytes);
const watch = (token: string, ...keys: string[]) =>
  gather(line(['WATCH', token, ...keys].join(' ')));

/** True when the transaction was proposed, false when it was answered nil at once. */
async function mayExec(token: string, calls = 1): Promise<boolean> {
  const before = gathered.length;
  const result = gather(encodeExec([line('SET out 1')], { token, calls }));
  if (gathered.length > before) return true;
  expect(await result).toEqual([{ ok: true, reply: NULL_ARRAY }]);
  return false;
}

/** One applied batch. */
async function apply(change: (txn: Txn) => void, served = false): Promise<void> {
  const txn = new Txn(engine);
  txn.beginEntry(++index);
  change(txn);
  const pace = { isDue: () => false, pause: async () => {} };
  await engine.write(inSteps ? await txn.batchInSteps(pace) : txn.operations());
  watches.onChanged(txn.changed, served);
}

const put = (key: string) => (txn: Txn) =>
  storeString(txn, findKey(txn, bytes(key), nowMs), bytes('v'), 0);

describe.each([
  { how: 'where all changes are looked at', steps: false },
  { how: 'where what is watched is asked about', steps: true },
])('$how', ({ steps }) => {
  beforeEach(() => {
    inSteps = steps;
  });

  test('EXEC goes on when nothing touched the watched keys, once', async () => {
    watch('t', 'a', 'b');
    await apply(put('other'));
    expect(await mayExec('t')).toBe(true);
    expect(await mayExec('t')).toBe(false);
  });

  test('EXEC without a watch always goes on', async () => {
    expect(await mayExec('', 0)).toBe(true);
  });

  test('a watched key that was changed, made or deleted stops it', async () => {
    await apply(put('there'));
    for (const change of [put('there'), put('new')]) {
      watch('t', 'there', 'new');
      await apply(change);
      expect(await mayExec('t')).toBe(false);
    }
    watch('t', 'there');
    await apply((txn) => removeKey(txn, findKey(txn, bytes('there'), nowMs)));
    expect(await mayExec('t')).toBe(false);
    expect(watches.count).toBe(0);
  });

  test('an element that changed stops it, though the header of its collection did not', async () => {
    await apply((txn) => {
      const set = openCollection(txn, bytes('s'), 'set', nowMs);
      if (set === 'wrong-type') throw new Error('a new key');
      txn.put(encodeMemberKey(tags.setMember, set.place, bytes('m')), Buffer.from([0]));
      set.size = 1;
      saveCollection(txn, set);
    });
    watch('t', 's');
    await apply((txn) => {
      const set = openCollection(txn, bytes('s'), 'set', nowMs);
      if (set === 'wrong-type') throw new Error('a set');
      txn.put(encodeMemberKey(tags.setMember, set.place, bytes('m')), Buffer.from([1]));
    });
    expect(await mayExec('t')).toBe(false);
  });

  test('a write on its way stops it, until it is applied and changed nothing', async () => {
    watch('t', 'a');
    gather(line('SETNX a 1'));
    expect(await mayExec('t')).toBe(false);
    watch('u', 'a');
    const write = gather(line('SETNX a 1'));
    for (const answer of settle.splice(0)) answer();
    await write;
    expect(await mayExec('u')).toBe(true);
  });

  test('a write of which nobody could tell what became of it stops it for good', async () => {
    for (const code of ['OUTCOME_UNKNOWN', 'BUSY'] as const) {
      watch('t', 'a');
      failNext = code;
      await gather(line('SET a 1'));
      expect(await mayExec('t')).toBe(code === 'BUSY');
      for (const answer of settle.splice(0)) answer();
    }
  });

  test('clients that an entry serves stop it until that is applied and changed nothing', async () => {
    watch('t', 'a');
    watches.onServing(index + 1, ['b', 'a']);
    expect(await mayExec('t')).toBe(false);
    watch('t', 'a');
    watches.onServing(index + 1, ['a']);
    await apply(put('other'), true);
    expect(await mayExec('t')).toBe(true);
  });

  test('a transaction on its way counts like its commands', async () => {
    watch('t', 'a');
    gather(encodeExec([line('SET a 1')]));
    expect(await mayExec('t')).toBe(false);
  });

  test('FLUSHALL touches keys that are there', async () => {
    await apply(put('there'));
    watch('t', 'there');
    watch('u', 'missing');
    watches.onClear();
    expect(await mayExec('t')).toBe(false);
    expect(await mayExec('u')).toBe(true);
  });

  test('a key that expires meanwhile stops it, one that had expired before does not', async () => {
    await apply((txn) => {
      for (const key of ['soon', 'gone']) {
        put(key)(txn);
        const found = findKey(txn, bytes(key), nowMs);
        setDeadline(txn, found, found.live!, key === 'soon' ? nowMs + 10 : nowMs - 10);
      }
    });
    watch('t', 'soon');
    watch('u', 'gone');
    nowMs += 10;
    expect(await mayExec('t')).toBe(false);
    expect(await mayExec('u')).toBe(true);
  });

  test('a field that expires meanwhile stops it, one that had expired before does not', async () => {
    await apply((txn) => {
      for (const [key, deadlineMs] of [
        ['soon', nowMs + 10],
        ['due', nowMs - 10],
      ] as const) {
        const hash = openHash(txn, bytes(key), nowMs - 20);
        if (hash === 'wrong-type') throw new Error('a new key');
        for (const name of ['f', 'stays']) setField(txn, hash, bytes(name), bytes('v'));
        const field = { name: bytes('f'), deadlineMs: 0, value: bytes('v') };
        setFieldDeadline(txn, hash, bytes('f'), field, deadlineMs);
        saveHash(txn, hash, undefined);
      }
    });
    watch('t', 'soon');
    watch('u', 'due');
    watch('v', 'soon');
    nowMs += 9;
    expect(await mayExec('v')).toBe(true);
    nowMs += 1;
    expect(await mayExec('t')).toBe(false);
    expect(await mayExec('u')).toBe(true);
  });

  test.each([
    ['of the key before that of a field', 10, 20, 10],
    ['of a field before that of the key', 20, 10, 10],
    ['of the last field', 0, 30, 30],
  ])('the deadline %s stops it, and not before', async (_, keyMs, fieldMs, stopsMs) => {
    await apply((txn) => {
      const hash = openHash(txn, bytes('h'), nowMs);
      if (hash === 'wrong-type') throw new Error('a new key');
      setField(txn, hash, bytes('f'), bytes('v'));
      const field = { name: bytes('f'), deadlineMs: 0, value: bytes('v') };
      setFieldDeadline(txn, hash, bytes('f'), field, nowMs + fieldMs);
      saveHash(txn, hash, undefined);
      const found = findKey(txn, bytes('h'), nowMs);
      if (keyMs > 0) setDeadline(txn, found, found.live!, nowMs + keyMs);
    });
    watch('t', 'none', 'h');
    watch('u', 'h', 'none');
    nowMs += stopsMs - 1;
    expect(await mayExec('t')).toBe(true);
    nowMs += 1;
    expect(await mayExec('u')).toBe(false);
  });

  test('a hash some of whose fields had expired stops it when the others do', async () => {
    await apply((txn) => {
      const hash = openHash(txn, bytes('h'), nowMs - 20);
      if (hash === 'wrong-type') throw new Error('a new key');
      for (const [name, deadlineMs] of [
        ['due', nowMs - 10],
        ['soon', nowMs + 10],
      ] as const) {
        setField(txn, hash, bytes(name), bytes('v'));
        const field = { name: bytes(name), deadlineMs: 0, value: bytes('v') };
        setFieldDeadline(txn, hash, bytes(name), field, deadlineMs);
      }
      saveHash(txn, hash, undefined);
    });
    watch('t', 'h');
    watch('u', 'h');
    watch('v', 'h');
    nowMs += 9;
    expect(await mayExec('t')).toBe(true);
    // what expires next was seen, and nobody knows when it does
    besideDueMs = nowMs;
    expect(await mayExec('v')).toBe(false);
    besideDueMs = 0;
    nowMs += 1;
    expect(await mayExec('u')).toBe(false);
  });

  test('a watched key is looked up once: neither EXEC nor its entry does so again', async () => {
    await apply(put('a'));
    watch('t', 'a', 'b', 'a');
    watch('t', 'a', 'c');
    expect(reads).toBe(3);
    const exec = encodeExec([line('SET a 2')], { token: 't', calls: 2 });
    gather(exec);
    expect(watches.leave([exec], nowMs, () => new Set())).toEqual([exec]);
    expect(reads).toBe(3);
  });

  describe('of a key that had expired when it was watched', () => {
    const remove = (txn: Txn) => void removeKey(txn, findKey(txn, bytes('gone'), nowMs));

    beforeEach(() =>
      apply((txn) => {
        const set = openCollection(txn, bytes('gone'), 'set', nowMs);
        if (set === 'wrong-type') throw new Error('a new key');
        txn.put(encodeMemberKey(tags.setMember, set.place, bytes('m')), Buffer.from([0]));
        set.size = 1;
        saveCollection(txn, set);
        const found = findKey(txn, bytes('gone'), nowMs);
        setDeadline(txn, found, found.live!, nowMs - 10);
      }),
    );

    async function applied(text: string, change: (txn: Txn) => void): Promise<void> {
      const write = gather(line(text));
      await apply(change);
      for (const answer of settle.splice(0)) answer();
      await write;
    }

    test('the record may go, by expiry, DEL or FLUSHALL', async () => {
      watch('t', 'gone', 'gone');
      watches.onClear();
      expect(await mayExec('t')).toBe(true);
      watch('u', 'gone');
      watch('v', 'gone');
      await applied('DEL gone', remove);
      expect(await mayExec('u')).toBe(true);
      await apply(put('other'));
      expect(await mayExec('v')).toBe(true);
    });

    test('whatever comes in its place stops it, also what goes again', async () => {
      watch('t', 'gone');
      await applied('SET gone v', put('gone'));
      expect(await mayExec('t')).toBe(false);
      await apply((txn) => {
        const found = findKey(txn, bytes('gone'), nowMs);
        setDeadline(txn, found, found.live!, nowMs - 10);
      });
      for (const change of [put('gone'), remove]) {
        watch('t', 'gone');
        watch('u', 'gone');
        await applied('DEL gone', remove);
        await applied('SET gone v', change);
        expect(await mayExec('t')).toBe(false);
        expect(await mayExec('u')).toBe(false);
      }
    });

    test('what may have been there in between stops it', async () => {
      watch('t', 'gone');
      await apply(remove, true);
      expect(await mayExec('t')).toBe(false);
    });

    test('nothing is forgiven when something was on its way', async () => {
      settled = false;
      watch('t', 'gone');
      await apply(remove);
      expect(await mayExec('t')).toBe(false);
    });

    test('nor when its own batch had a write before it', async () => {
      gather(line('SET gone v'), line('WATCH t gone'));
      await apply(remove);
      for (const answer of settle.splice(0)) answer();
      expect(await mayExec('t')).toBe(false);
    });
  });

  describe('between coming and going into an entry', () => {
    const nobody = () => new Set<string>();
    const exec = (token: string) => encodeExec([line('SET a 2')], { token, calls: 1 });

    /** What goes into the log for the EXEC of `token`. */
    function leave(token: string, served = nobody): 'itself' | 'nil' {
      const [, gone] = watches.leave([line('SET b 1'), exec(token)], nowMs, served);
      if (gone === BROKEN_EXEC) return 'nil';
      expect(gone).toEqual(exec(token));
      return 'itself';
    }

    test('it stays what it is when nothing happens, whatever it or those behind it change', () => {
      watch('t', 'a');
      gather(exec('t'));
      gather(line('SET a 3'));
      expect(leave('t')).toBe('itself');
      expect(watches.count).toBe(0);
    });

    test.each<readonly [string, () => unknown]>([
      ['a change', () => apply(put('a'))],
      ['another term', () => term++],
      ['an entry that serves clients', () => watches.onServing(index + 1, ['a'])],
    ])('%s makes it answer nil', async (_, happens) => {
      watch('t', 'a');
      gather(exec('t'));
      await happens();
      expect(leave('t')).toBe('nil');
    });

    test('a deadline that its entry has reached makes it answer nil', async () => {
      await apply((txn) => {
        put('a')(txn);
        const found = findKey(txn, bytes('a'), nowMs);
        setDeadline(txn, found, found.live!, nowMs + 10);
      });
      for (const [waitsMs, went] of [
        [9, 'itself'],
        [1, 'nil'],
      ] as const) {
        watch('t', 'a');
        gather(exec('t'));
        nowMs += waitsMs;
        expect(leave('t')).toBe(went);
      }
    });

    test('clients that are served before it in what is proposed with it make it answer nil', () => {
      for (const [token, key] of [
        ['t', 'a'],
        ['u', 'other'],
      ] as const) {
        watch(token, 'a');
        gather(exec(token));
        expect(leave(token, () => new Set([key]))).toBe(key === 'a' ? 'nil' : 'itself');
      }
    });

    test('under a session its place in the log is kept', () => {
      watch('t', 'a');
      const sent = [...line('KV.ONCE id 1 0'), ...exec('t')];
      gather(sent);
      watches.onServing(index + 1, ['a']);
      expect(watches.leave([sent], nowMs, nobody)).toEqual([
        [...line('KV.ONCE id 1 0'), ...BROKEN_EXEC],
      ]);
    });

    test('a second EXEC of the same watch is answered nil, and one that never left is forgotten', async () => {
      watch('t', 'a');
      const first = gather(exec('t'));
      expect(await gather(exec('t'))).toEqual([{ ok: true, reply: NULL_ARRAY }]);
      for (const answer of settle.splice(0)) answer();
      await first;
      expect(watches.count).toBe(0);
    });
  });

  test('another term, or a WATCH this leader did not see, stops it', async () => {
    watch('t', 'a');
    term = 2;
    expect(await mayExec('t')).toBe(false);
    watch('t', 'a');
    expect(await mayExec('t', 2)).toBe(false);
    watch('u', 'a');
    watch('u', 'b');
    expect(await mayExec('u', 2)).toBe(true);
  });

  describe('what one connection watches is bounded', () => {
    const many = (from: number, count: number, length = 0) =>
      Array.from({ length: count }, (_, at) => `k${from + at}`.padEnd(length, '-'));

    test('what is watched already takes nothing', async () => {
      watch('t', 'a', 'a');
      const { bytes } = watches;
      for (let call = 0; call < 1_000; call++) watch('t', 'a', 'a', 'a');
      expect(watches.bytes).toBe(bytes);
      expect(await mayExec('t', 1_001)).toBe(true);
    });

    test.each([
      ['keys', limits.watchKeysMax, 0],
      ['bytes', 15, limits.watchBytesMax / 16],
    ])('of too many %s none is kept, and EXEC says so', async (_, count, length) => {
      watch('t', ...many(0, count, length));
      expect(await mayExec('t')).toBe(true);
      watch('u', ...many(0, count, length));
      watch('u', ...many(count, 2, length));
      watch('u', 'more');
      expect(watches.bytes).toBeLessThan(limits.watchBytesMax + 1_000);
      const exec = encodeExec([line('SET out 1')], { token: 'u', calls: 3 });
      const [result] = await gather(exec);
      const told = expect.stringMatching(/^EXECABORT .* watched$/);
      expect(result).toEqual({ ok: true, reply: { kind: 'error', text: told } });
    });

    test.each([
      ['forwarded', undefined],
      ['of a client’s session', ['KV.ONCE', 'session-1', '1', '1'].map(bytes)],
    ])(
      'of too many keys none is kept, and an EXEC that is %s says so as well, unless it has run',
      async (_, words) => {
        const once =
          words === undefined ? { id: bytes('gateway-1'), sequence: 1, low: 1 } : undefined;
        for (const [reply, told] of [
          [NULL_ARRAY, { kind: 'error', text: expect.stringMatching(/^EXECABORT .* watched$/) }],
          [
            { kind: 'array', items: [OK] },
            { kind: 'array', items: [OK] },
          ],
        ] as const) {
          watch('u', ...many(0, limits.watchKeysMax + 1));
          const exec = encodeExec([line('SET out 1')], { token: 'u', calls: 1 });
          settled = true;
          answer = reply;
          const asked = gatherOnce(once, [...(words ?? []), ...exec]);
          for (const done of settle.splice(0)) done();
          expect(await asked).toEqual([{ ok: true, reply: told }]);
          expect(gathered.at(-1)!.lines[0]!.at(-1)).toEqual(BROKEN_EXEC.at(-1));
        }
      },
    );

    test('of too many bytes in all the oldest watches are forgotten', async () => {
      const length = limits.watchBytesMax / 2;
      const count = limits.watchBytesPerPartitionMax / length;
      for (let at = 0; at < count; at++) watch(`t${at}`, ...many(at, 1, length));
      expect(watches.count).toBe(count - 1);
      expect(watches.bytes).toBeLessThanOrEqual(limits.watchBytesPerPartitionMax);
      expect(await mayExec('t0')).toBe(false);
      expect(await mayExec('t1')).toBe(true);
    });

    test('an EXEC whose watch is forgotten before it goes answers nil', () => {
      watch('t', 'a');
      const exec = encodeExec([line('SET a 2')], { token: 't', calls: 1 });
      gather(exec);
      for (let at = 0; at < limits.watchesPerPartitionMax; at++) watch(`t${at}`, 'a');
      expect(watches.leave([exec], nowMs, () => new Set())).toEqual([BROKEN_EXEC]);
    });
  });

  test('of too many watches the oldest are forgotten', async () => {
    for (let at = 0; at <= limits.watchesPerPartitionMax; at++) watch(`t${at}`, 'a');
    expect(watches.count).toBe(limits.watchesPerPartitionMax);
    expect(await mayExec('t0')).toBe(false);
    expect(await mayExec('t1')).toBe(true);
  });
});

test('nothing is remembered once the leadership has ended, nor does it come back with it', async () => {
  await apply(put('a'));
  watch('t', 'a', 'b');
  watch('u', 'a');
  expect(await mayExec('u')).toBe(true); // its entry is not made yet
  watches.stepDown();
  expect([watches.count, watches.bytes]).toEqual([0, 0]);
  const exec = encodeExec([line('SET out 1')], { token: 'u', calls: 1 });
  expect(watches.leave([exec], nowMs, () => new Set())).toEqual([BROKEN_EXEC]);
  for (const answer of settle.splice(0)) answer();
  await apply(put('a'));
  expect(await mayExec('t')).toBe(false);
  term = 2;
  watch('t', 'a');
  expect(await mayExec('t')).toBe(true);
  expect(watches.count).toBe(1);
});

test('of many changes only what is watched is asked about', async () => {
  const asked: string[] = [];
  const changed = {
    all: () => {
      throw new Error('all changes are looked at');
    },
    get: (name: string) => void asked.push(name),
    elements: new Set<string>(),
  };
  watch('t', 'a', 'b');
  watches.onChanged(changed, false);
  expect(asked.length).toBe(2);
  expect(await mayExec('t')).toBe(true);
});
