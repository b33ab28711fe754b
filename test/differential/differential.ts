/**
 * Random command sequences against a stock redis-server and against one partition: every reply is
 * the same, byte for byte, in RESP2 and RESP3, errors included. A sequence that is answered
 * differently is shrunk to the shortest that is.
 */
import type fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodeReply } from '../../src/datanode/resp/encode-reply.ts';
import type { Protocol } from '../../src/datanode/resp/reply.ts';
import { LonePartition } from '../datanode/commands/lone-partition.ts';
import { hasRedis, RealRedis } from '../datanode/commands/real-redis.ts';
import { scale } from '../scale.ts';
import { Oracle } from './oracle.ts';
import { comparable, type Order } from './order.ts';
import { compareSequences, SEQUENCES_TIMEOUT_MS } from './sequences.ts';

/** One command, and what the order of its reply's items means. */
export interface Step {
  readonly words: readonly (string | Buffer)[];
  readonly order?: Order;
  /** Commands before it, for what else would differ as known; their replies are compared as they are. */
  readonly before?: readonly (readonly string[])[];
}

/** Commands of these words, whose replies are compared so. */
export const inOrder =
  (order: Order) =>
  (lines: fc.Arbitrary<string[]>): fc.Arbitrary<Step> =>
    lines.map((line) => ({ words: line, order }));

export const exact = inOrder('exact');
export const inSeconds = inOrder('seconds');

/**
 * `share`: the part of the commands in `test/scale.ts` that this family gets; `scene`: lines that every
 * sequence begins with.
 */
export function differential(
  name: string,
  step: fc.Arbitrary<Step>,
  share = 1,
  scene: readonly string[] = [],
): void {
  const first = scene.map((line): Step => ({ words: line.split(' ') }));
  describe.skipIf(!hasRedis)(`${name} as redis-server answers`, () => {
    let redis: RealRedis;
    beforeAll(async () => {
      redis = await RealRedis.start();
    });
    afterAll(() => redis?.stop());

    test.each([2, 3] as const)(
      'RESP%i',
      async (protocol) => {
        const oracle = await Oracle.connect(redis.path, protocol);
        const count = (scale.differentialCommands * share) / 2;
        await compareSequences(`${name}, RESP${protocol}`, step, count, async (steps) => {
          await oracle.call([Buffer.from('FLUSHALL')]);
          return await compareAll(oracle, [...first, ...steps], protocol);
        });
        oracle.close();
      },
      SEQUENCES_TIMEOUT_MS,
    );
  });
}

async function compareAll(
  oracle: Oracle,
  steps: readonly Step[],
  protocol: Protocol,
): Promise<number> {
  const partition = await LonePartition.open();
  const all = steps.flatMap((step): readonly Step[] => [
    ...(step.before ?? []).map((words) => ({ words })),
    step,
  ]);
  for (const { words, order = 'exact' } of all) {
    const args = words.map((word) => (typeof word === 'string' ? Buffer.from(word) : word));
    partition.nowMs = Date.now();
    const ours = encodeReply(await partition.call(...args), protocol);
    const theirs = await oracle.call(args);
    const line = args.map((arg) => JSON.stringify(arg.toString('latin1'))).join(' ');
    expect(comparable(ours, order, theirs), line).toBe(comparable(theirs, order, ours));
  }
  return steps.length;
}
