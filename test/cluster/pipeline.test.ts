import * as fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scale } from '../scale.ts';
import { eventually, pause, startCluster, type TestCluster } from './cluster.ts';
import { connect } from './load.ts';
import { type Answer, PipelineModel, type Step } from './pipeline-model.ts';

let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startCluster({ partitions: 4 });
}, 300_000);

afterAll(async () => {
  await cluster.destroy();
}, 300_000);

const KEYS = ['a', 'b', 'c', '{t}1', '{t}2'];

const steps = fc.array(
  fc.record({
    op: fc.constantFrom('set' as const, 'get' as const, 'incr' as const, 'del' as const),
    key: fc.constantFrom(...KEYS),
    value: fc.constantFrom('1', '7', 'text'),
  }),
  { minLength: 1, maxLength: 60 },
);

let runs = 0;

/** Keys of a run bear its number, so that no run sees another's. */
function prefixed(list: readonly Step[]): Step[] {
  const run = `m${runs++}`;
  return list.map((step) => ({ ...step, key: `${run}:${step.key}` }));
}

/** All commands in one write, so that they are in flight together. */
async function pipeline(client: Redis, list: readonly Step[]): Promise<Answer[]> {
  const batch = client.pipeline();
  for (const step of list) {
    if (step.op === 'set') batch.set(step.key, step.value);
    else batch[step.op](step.key);
  }
  const results = (await batch.exec()) ?? [];
  return results.map(([error, value]) => answerOf(error, value));
}

function answerOf(error: Error | null, value: unknown): Answer {
  if (error === null) return { kind: 'reply', value: value as string | number | null };
  const { message } = error;
  if (message.startsWith('ERR value is not an integer')) return { kind: 'reply', value: message };
  if (message.startsWith('CLUSTERDOWN') || message.startsWith('TRYAGAIN')) {
    return { kind: 'refused' };
  }
  return { kind: 'unknown' };
}

function judge(list: readonly Step[], answers: readonly Answer[]): void {
  const model = new PipelineModel();
  const problems = list.map((step, at) => model.judge(step, answers[at]!));
  expect(problems.filter(Boolean)).toEqual([]);
}

describe('without faults every pipeline answers as one Redis', () => {
  test.each([0, 1, 2])(
    'through gateway %i',
    async (node) => {
      const client = new Redis({ port: cluster.gatewayPort(node) });
      try {
        await fc.assert(
          fc.asyncProperty(steps, async (drawn) => {
            const list = prefixed(drawn);
            const answers = await pipeline(client, list);
            expect(answers.filter((answer) => answer.kind !== 'reply')).toEqual([]);
            judge(list, answers);
          }),
          { numRuns: Math.ceil(scale.modelCommands / 30 / 4), endOnFailure: true },
        );
      } finally {
        client.disconnect();
      }
    },
    600_000,
  );

  test('through the cluster ports', async () => {
    const client = new Redis.Cluster([{ host: '127.0.0.1', port: cluster.clusterPort(0) }]);
    try {
      await fc.assert(
        fc.asyncProperty(steps, async (drawn) => {
          // Cluster clients send a pipeline to one node: the keys share a tag.
          const list = prefixed(drawn.map((step) => ({ ...step, key: `{x}${step.key[0]}` })));
          judge(list, await pipeline(client as unknown as Redis, list));
        }),
        { numRuns: Math.ceil(scale.modelCommands / 30 / 4), endOnFailure: true },
      );
    } finally {
      client.disconnect();
    }
  }, 600_000);
});

describe('across leader kills', () => {
  test('an unknown outcome took effect at most once, and in its place', async () => {
    let running = true;
    const problems: string[] = [];
    let judged = 0;
    let unknown = 0;
    const worker = async (seed: number, node: number) => {
      const client = connect(cluster.gatewayPort(node));
      const model = new PipelineModel();
      const random = fc.sample(steps, { seed, numRuns: 400 });
      for (let at = 0; running; at++) {
        const list = (random[at % random.length] as Step[]).map((step) => ({
          ...step,
          key: `k${seed}:${step.key}`,
        }));
        const answers = await pipeline(client, list);
        list.forEach((step, index) => {
          const answer = answers[index]!;
          if (answer.kind === 'unknown') unknown++;
          const problem = model.judge(step, answer);
          if (problem) problems.push(`worker ${seed}, round ${at}, step ${index}: ${problem}`);
          judged++;
        });
      }
      client.disconnect();
    };
    // Gateway 0 stays alive: a connection that dies leaves outcomes no later reply can order.
    const workers = [1, 2, 3, 4].map((seed) => worker(seed, 0));
    for (let round = 0; round < scale.kills; round++) {
      await pause(700);
      const victim = `datanode${2 + (round % 2)}`;
      cluster.kill(victim);
      await eventually(60_000, `${victim} is back`, async () => {
        const { partitions } = await cluster.status();
        return partitions.every((line) =>
          line.replicas.every((replica) => replica.state === 'running'),
        );
      });
    }
    await pause(500);
    await eventually(60_000, 'enough is judged', () => judged > 1_000);
    running = false;
    await Promise.all(workers);
    process.stdout.write(`judged ${judged} answers, ${unknown} of unknown outcome\n`);
    expect(problems).toEqual([]);
    expect(judged).toBeGreaterThan(1_000);
  }, 300_000);
});
