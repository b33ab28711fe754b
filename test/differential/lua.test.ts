/**
 * Random programs in Lua, run by a stock redis-server and by the machine of scripts: what they
 * note and answer is the same, the texts of errors and the lines they name included.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodeReply } from '../../src/datanode/resp/encode-reply.ts';
import { LonePartition } from '../datanode/commands/lone-partition.ts';
import { hasRedis, RealRedis } from '../datanode/commands/real-redis.ts';
import { scale } from '../scale.ts';
import { comparableAnswer } from './lua/answers.ts';
import { FRESH, libraries, noted } from './lua/library-calls.ts';
import { program } from './lua/prelude.ts';
import { DECLARATIONS, statement } from './lua/statements.ts';
import { tricky } from './lua/tricky.ts';
import { Oracle } from './oracle.ts';
import { SEQUENCES_TIMEOUT_MS } from './sequences.ts';

const seed = Number(process.env['KVORUM_FUZZ_SEED'] ?? 1);

describe.skipIf(!hasRedis)('Lua as redis-server runs it', () => {
  let redis: RealRedis;
  let oracle: Oracle;
  let ours: LonePartition;
  beforeAll(async () => {
    redis = await RealRedis.start('--maxmemory', '1gb');
    oracle = await Oracle.connect(redis.path, 2);
    ours = await LonePartition.open();
  });
  afterAll(async () => {
    oracle?.close();
    await redis?.stop();
  });

  async function compare(source: string): Promise<void> {
    const words = ['EVAL', source, '0'].map((word) => Buffer.from(word, 'latin1'));
    const theirs = comparableAnswer(await oracle.call(words));
    const answer = comparableAnswer(Buffer.from(encodeReply(await ours.call(...words), 2)));
    expect(answer, source).toBe(theirs);
  }

  const compareAll = (texts: fc.Arbitrary<string>, numRuns: number): Promise<void> =>
    fc.assert(fc.asyncProperty(texts, compare), { numRuns, seed });

  test.each(Object.entries(tricky))('what is easily got wrong: %s', async (_name, sources) => {
    const failures: string[] = [];
    for (const source of sources) await compare(source).catch((e) => failures.push(`${e.message}`));
    expect(failures.join('\n\n')).toBe('');
  });

  test(
    'programs of all statements',
    () => {
      const statements = fc.array(statement, { minLength: 1, maxLength: 6, size: 'max' });
      const texts = statements.map((lines) => program([DECLARATIONS, ...lines]));
      return compareAll(texts, scale.luaPrograms);
    },
    SEQUENCES_TIMEOUT_MS,
  );

  test.each(Object.entries(libraries))(
    'calls of libraries: %s',
    (_name, call) => {
      const lines = fc.array(noted(call), { minLength: 1, maxLength: 6 });
      const texts = lines.map((calls) => program([FRESH, ...calls]));
      return compareAll(texts, scale.luaPrograms / 2);
    },
    SEQUENCES_TIMEOUT_MS,
  );
});
