import { expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { findCommand } from '../../../../src/datanode/commands/table/table.ts';

/** An XADD whose fields and values are `bytes` together, all of them short. */
function lineOf(bytes: number): Buffer[] {
  const words = ['XADD', 's', '1-1'].map((word) => Buffer.from(word));
  const field = Buffer.alloc(112, 'x');
  const fields = Array.from({ length: 2 * Math.floor(bytes / 256) }, () => field);
  return [...words, ...fields];
}

test('an entry that no reply could hold is not added', () => {
  const { prepare } = findCommand(Buffer.from('xadd')) as { prepare(args: Buffer[]): unknown };
  expect(prepare(lineOf(limits.replyBytesMax))).toEqual({
    ok: false,
    reply: { kind: 'error', text: 'ERR Elements are too large to be stored' },
  });
  expect(prepare(lineOf(limits.replyBytesMax - 1_024))).toMatchObject({ ok: true });
});
