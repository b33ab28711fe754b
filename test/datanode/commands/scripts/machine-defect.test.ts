/** A mistake in the machine ends the script that meets it; what only this host met goes further. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LuaTable } from '../../../../src/datanode/lua/values/table.ts';
import { LonePartition } from '../lone-partition.ts';
import { replyText } from '../reply-text.ts';

let partition: LonePartition;
beforeEach(async () => {
  partition = await LonePartition.open();
});
afterEach(() => {
  vi.restoreAllMocks();
});

const SCRIPT = `redis.call('set', 'k', 'v') pcall(table.maxn, {}) return 1`;

async function evaluate(failure: Error): Promise<string> {
  vi.spyOn(LuaTable.prototype, 'next').mockImplementation(() => {
    throw failure;
  });
  return replyText(await partition.call('EVAL', SCRIPT, '0'));
}

test.each([new TypeError('x is not a function'), new ReferenceError('x is not defined')])(
  'a defect ends the script, past its pcall: %s',
  async (defect) => {
    expect(await evaluate(defect)).toMatch(
      /^\(error\) ERR the script met a defect of kvorum .* script: [0-9a-f]{40}\.$/,
    );
    vi.restoreAllMocks();
    expect(replyText(await partition.call('GET', 'k'))).toBe('"v"');
    expect(replyText(await partition.call('EVAL', SCRIPT, '0'))).toBe('(integer) 1');
  },
);

test.each([new RangeError('Maximum call stack size exceeded'), new Error('the disk')])(
  'another replica may have been spared what is thrown on: %s',
  async (failure) => {
    await expect(evaluate(failure)).rejects.toThrow(failure.message);
  },
);
