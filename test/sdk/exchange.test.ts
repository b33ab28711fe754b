/** Lines over a connection that nobody else uses: what becomes of it, and of its node. */
import { describe, expect, test } from 'vitest';
import type { CallWorld } from '../../src/sdk/call-plan.ts';
import { exchange } from '../../src/sdk/exchange.ts';
import { HandClock } from './hand-clock.ts';
import { HandConnection } from './hand-connection.ts';

const ATTEMPT_MS = 1_000;
const address = { host: 'n0', port: 1 };

function scene() {
  const clock = new HandClock();
  const avoided: string[] = [];
  let refusal: Error | undefined;
  const connection = new HandConnection(address, { ready: () => {}, closed: () => {} });
  const pool = {
    avoid: ({ host }: { host: string }) => avoided.push(host),
    refusal: () => refusal,
  };
  const world = { clock, pool, attemptTimeoutMs: ATTEMPT_MS } as unknown as CallWorld;
  const ask = () =>
    exchange(world, 0, connection, [
      ['WATCH', 'k'],
      ['GET', 'k'],
    ]);
  const refuse = (error: Error) => {
    refusal = error;
  };
  return { clock, avoided, connection, ask, refuse };
}

test('answered in time: nobody looks after it, and the connection goes on', async () => {
  const { clock, avoided, connection, ask } = scene();
  const answer = ask();
  clock.run(ATTEMPT_MS - 1);
  connection.answer();
  expect(await answer).toEqual({ kind: 'reply', reply: null });
  clock.run(ATTEMPT_MS);
  expect(clock.armed).toBe(0);
  expect(connection.isClosed).toBe(false);
  expect(avoided).toEqual([]);
});

test('silent: the connection is closed, and the node asked last for a moment', async () => {
  const { clock, avoided, connection, ask } = scene();
  const answer = ask();
  clock.run(ATTEMPT_MS);
  expect(await answer).toMatchObject({ kind: 'failed', failure: 'silent' });
  expect(connection.isClosed).toBe(true);
  expect(avoided).toEqual(['n0']);
});

describe('not sent', () => {
  test.each([
    ['the node cannot be reached', undefined, 'unsent', undefined],
    ['it does not let the client in', new Error('WRONGPASS'), 'reply', 'REFUSED'],
  ] as const)('%s', async (_name, refused, failure, code) => {
    const { connection, ask, refuse } = scene();
    if (refused !== undefined) refuse(refused);
    connection.send = (_line, done) => done({ kind: 'unsent', cause: new Error('ECONNREFUSED') });
    const answer = await ask();
    expect(answer).toMatchObject({ kind: 'failed', failure });
    expect('error' in answer && 'code' in answer.error ? answer.error.code : undefined).toBe(code);
  });
});
