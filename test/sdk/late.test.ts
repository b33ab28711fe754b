/** What comes of an attempt that was given up for its silence, while or after the next is under way. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { Client } from '../../src/sdk/client.ts';
import type { ClientError } from '../../src/sdk/errors.ts';
import { scriptedPlacedriver, startPeers } from './peer.ts';

const ends: (() => unknown)[] = [];
const rejections: unknown[] = [];
const onRejection = (reason: unknown) => rejections.push(reason);

beforeEach(() => {
  process.on('unhandledRejection', onRejection);
});

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  // one that nobody handles is told of in a turn of its own
  await new Promise((resolve) => setTimeout(resolve, 20));
  process.off('unhandledRejection', onRejection);
  expect(rejections.splice(0)).toEqual([]);
});

interface Scene {
  readonly client: Client;
  readonly asked: readonly string[];
  /** What the node that was silent says at last. */
  readonly sayFirst: (answer: string) => void;
  readonly saySecond: (answer: string) => void;
  /** The other node has been asked. */
  readonly retried: Promise<unknown>;
}

/** A promise, and what settles it. */
function open<Value>() {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

const attemptTimeoutMs = 200;

async function scene(): Promise<Scene> {
  const asked: string[] = [];
  const answers = [0, 1].map(() => open<string>());
  const retry = open<void>();
  let attempts = 0;
  // stands still but for the first silence: no other is to be one, however slow the machine is
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  const script = (line: readonly string[]) => {
    if (['KV.SESSION', 'CLIENT', 'SELECT', 'READONLY'].includes(line[0]!)) return undefined;
    asked.push(line.slice(line[0] === 'KV.ONCE' ? 3 : 0).join(' '));
    attempts++;
    if (attempts === 1) nowMs += attemptTimeoutMs;
    if (attempts === 2) retry.resolve();
    return answers[attempts - 1]?.promise;
  };
  const { nodes } = await startPeers([script, script], ends);
  const driver = scriptedPlacedriver({
    epoch: 1,
    nodes,
    partitions: [{ leader: 'n0', replicas: ['n0', 'n1'] }],
  });
  const client = new Client(
    { placedrivers: ['p:1'], attemptTimeoutMs, backoffMaxMs: 20 },
    { get: driver.get, clock },
  );
  ends.push(() => client.disconnect());
  return {
    ...{ client, asked, retried: retry.promise },
    sayFirst: answers[0]!.resolve,
    saySecond: answers[1]!.resolve,
  };
}

const outcome = (call: Promise<unknown>) => call.then(String, (error: ClientError) => error.code);

/** Long enough for an answer to be heard. */
const heard = () => new Promise((resolve) => setTimeout(resolve, 60));

/** They tell nothing of what the command did. */
const telling = [
  'CLUSTERDOWN no leader',
  'MOVED 5 127.0.0.1:1',
  'UNKNOWNOUTCOME who knows',
  'TRYAGAIN later',
  'MISCONF damaged',
  'SESSIONLOST not known',
  'NOPERM no permissions',
  'NOAUTH who are you',
  // of a build that does not have it
  "ERR unknown command 'incr', with args beginning with: 'k' ",
];

test('one that says nothing is given twice as long the next time, and four times at last', async () => {
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  const asked: number[] = [];
  const script = (line: readonly string[]) => {
    if (line[0] !== 'GET') return undefined;
    asked.push(nowMs);
    return 'hang';
  };
  const { nodes } = await startPeers([script, script, script], ends);
  const replicas = nodes.map(({ name }) => name);
  const partitions = [{ leader: 'n0', replicas }];
  const { get } = scriptedPlacedriver({ epoch: 1, nodes, partitions });
  const client = new Client(
    { placedrivers: ['p:1'], attemptTimeoutMs, timeoutMs: 60_000, backoffMaxMs: 20 },
    { get, clock },
  );
  ends.push(() => client.disconnect());
  const call = outcome(client.get('k'));
  let count = 0;
  for (const times of [1, 2, 4, 4]) {
    count++;
    await expect.poll(() => asked.length).toBe(count);
    nowMs += attemptTimeoutMs * times - 1;
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(asked).toHaveLength(count);
    nowMs += 1;
  }
  await expect.poll(() => asked.length).toBe(5);
  client.disconnect();
  expect(await call).toBe('CLOSED');
});

describe.each(['get', 'incr'] as const)('%s', (name) => {
  test.each(telling)('%s, while the next attempt is under way, hides nothing', async (text) => {
    const { client, asked, sayFirst, saySecond, retried } = await scene();
    const call = outcome(client[name]('k'));
    await retried;
    sayFirst(`-${text}\r\n`);
    await heard();
    saySecond(name === 'get' ? '$1\r\n7\r\n' : ':7\r\n');
    expect(await call).toBe('7');
    expect(asked).toHaveLength(2);
  });

  test('the command’s own error is the outcome, told once', async () => {
    const { client, sayFirst, saySecond, retried } = await scene();
    let told = 0;
    const call = outcome(client[name]('k')).finally(() => told++);
    await retried;
    sayFirst('-WRONGTYPE of another kind\r\n');
    expect(await call).toBe('WRONGTYPE');
    saySecond('-WRONGTYPE of another kind\r\n');
    await heard();
    expect(told).toBe(1);
  });

  test('behind the result of the next attempt it is nobody’s', async () => {
    const { client, sayFirst, saySecond, retried } = await scene();
    const errors: unknown[] = [];
    client.on('error', (error) => errors.push(error));
    const call = outcome(client[name]('k'));
    await retried;
    saySecond(name === 'get' ? '$1\r\n7\r\n' : ':7\r\n');
    expect(await call).toBe('7');
    sayFirst('-WRONGTYPE of another kind\r\n');
    await heard();
    expect(errors).toEqual([]);
  });
});
