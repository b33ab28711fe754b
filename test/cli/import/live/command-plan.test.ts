import { describe, expect, test } from 'vitest';
import { planOf } from '../../../../src/cli/import/live/command-plan.ts';

/** By the number that a key ends with. */
const partitionOf = (key: Buffer) => Number(/\d$/.exec(key.toString())?.[0] ?? 0);
const plan = (text: string) =>
  planOf(
    text.split(' ').map((word) => Buffer.from(word)),
    partitionOf,
  );

/** Lines with their partitions, as texts. */
function linesOf(text: string): readonly string[] {
  const found = plan(text);
  if (found.kind !== 'lines') return [found.kind];
  return found.lines.map(({ partition, line }) => `${partition}: ${line.join(' ')}`);
}

describe('what a source tells its replicas', () => {
  test.each([
    ['SET a1 v PXAT 5', ['1: SET a1 v PXAT 5']],
    ['del a1 b2 c1', ['1: del a1 c1', '2: del b2']],
    ['MSET a1 x b2 y', ['1: mset a1 x', '2: mset b2 y']],
    ['MSETNX a1 x b2 y', ['1: mset a1 x', '2: mset b2 y']],
    ['RENAME a1 b1', ['1: RENAME a1 b1']],
    ['RENAME a1 b2', ['across']],
    ['SUNIONSTORE a1 b1 c2', ['across']],
    ['XGROUP SETID s3 g 5-1', ['3: XGROUP SETID s3 g 5-1']],
    ['COPY a1 b1 REPLACE', ['1: COPY a1 b1 REPLACE']],
    ['COPY a1 b1 DB 3', ['between']],
    ['MOVE a1 3', ['between']],
    ['PING', ['ignore']],
    ['PUBLISH channel text', ['ignore']],
    ['PFCOUNT a1', ['ignore']],
    ['FLUSHALL', ['flush']],
    ['FUNCTION LOAD x', ['function']],
    ['BF.ADD a1 1', ['refuse']],
    ['SWAPDB 0 1', ['stop']],
    ['MULTI', ['multi']],
  ])('%s', (text, lines) => {
    expect(linesOf(text)).toEqual(lines);
  });

  test('SELECT and databases of others are numbers', () => {
    expect(plan('SELECT 7')).toEqual({ kind: 'select', database: 7 });
    expect(plan('COPY a1 b1 REPLACE DB 3')).toMatchObject({ database: 3, isCopy: true });
    expect(plan('MOVE a1 2')).toMatchObject({ database: 2, isCopy: false });
  });
});
