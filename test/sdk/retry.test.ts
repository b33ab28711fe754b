/** Every row of the retry policy, over real sockets: each failure × read, write, write in a session. */
import { afterEach, describe, expect, test } from 'vitest';
import { Client } from '../../src/sdk/client.ts';
import { ClientError } from '../../src/sdk/errors.ts';
import { decide, type Failure, failureOf, failures, movedTo } from '../../src/sdk/retry.ts';
import { type Answer, Peer, scriptedPlacedriver } from './peer.ts';

const effects = ['read', 'write', 'write-in-session'] as const;
type Effect = (typeof effects)[number];

/** What the caller gets when the failure happens once, and when it happens always. */
interface Row {
  readonly failure: Failure;
  /** Of the peer; `unsent`: its port is closed. */
  readonly answer: Answer | 'unsent' | 'moved';
  readonly once: Readonly<Record<Effect, string>>;
  readonly always: Readonly<Record<Effect, string>>;
}

const each = (read: string, write = read, session = write) => {
  return { read, write, 'write-in-session': session };
};

const refused = { once: each('OK'), always: each('UNAVAILABLE') };
const unknown = {
  once: each('OK', 'OUTCOME_UNKNOWN', 'OK'),
  always: each('TIMEOUT', 'OUTCOME_UNKNOWN', 'OUTCOME_UNKNOWN'),
};

const rows: readonly Row[] = [
  { failure: 'moved', answer: 'moved', ...refused },
  { failure: 'clusterChanged', answer: '-CLUSTERDOWN no leader\r\n', ...refused },
  { failure: 'clusterChanged', answer: '-ERR_CLUSTER_CHANGED: not leader\r\n', ...refused },
  { failure: 'busy', answer: '-TRYAGAIN later\r\n', ...refused },
  { failure: 'busy', answer: '-LOADING the dataset\r\n', ...refused },
  { failure: 'unsent', answer: 'unsent', ...refused },
  { failure: 'lost', answer: 'close', ...unknown },
  { failure: 'unknownOutcome', answer: '-UNKNOWNOUTCOME who knows\r\n', ...unknown },
  {
    failure: 'partial',
    answer: "-PARTIALOUTCOME done for 'a'; not done for 'b'; unknown for none\r\n",
    once: each('PARTIAL'),
    always: each('PARTIAL'),
  },
  {
    failure: 'partlyUnknown',
    answer: "-PARTIALOUTCOME done for 'a'; not done for none; unknown for 'b'\r\n",
    once: each('OUTCOME_UNKNOWN'),
    always: each('OUTCOME_UNKNOWN'),
  },
  { failure: 'faulty', answer: '-MISCONF this replica is damaged\r\n', ...unknown },
  {
    failure: 'silent',
    answer: 'hang',
    once: each('OK', 'OUTCOME_UNKNOWN', 'OK'),
    always: each('TIMEOUT', 'OUTCOME_UNKNOWN', 'OUTCOME_UNKNOWN'),
  },
  {
    failure: 'sessionLost',
    answer: '-SESSIONLOST not known\r\n',
    once: each('OK'),
    always: each('UNAVAILABLE'),
  },
  {
    failure: 'done',
    answer: '-DONE took effect\r\n',
    once: each('DONE'),
    always: each('DONE'),
  },
  {
    failure: 'reply',
    answer: '-WRONGTYPE of another kind\r\n',
    once: each('WRONGTYPE'),
    always: each('WRONGTYPE'),
  },
];

const opened: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

async function startPeer(script: Peer['script']): Promise<Peer> {
  const peer = await Peer.start(script);
  opened.push({ close: () => peer.stop() });
  return peer;
}

/** A client, the node that leads and one that holds a replica, which always does what it is asked. */
async function scene(row: Row, effect: Effect, times: number, attemptsMax = 4) {
  let left = times;
  const done: string[] = [];
  const succeed = (line: readonly string[]) => {
    if (line[0] === 'KV.SESSION') return undefined;
    done.push(line.join(' '));
    return '+OK\r\n';
  };
  const other = await startPeer((line) => (times > 1 ? fail(line) : succeed(line)));
  const leader = await startPeer((line) => fail(line));
  function fail(line: readonly string[]): Answer | undefined {
    if (line[0] === 'KV.SESSION') return undefined;
    if (left-- <= 0) return succeed(line);
    if (row.answer !== 'moved') return row.answer;
    return `-MOVED 5 127.0.0.1:${times > 1 ? leader.port : other.port}\r\n`;
  }
  if (row.answer === 'unsent') {
    await leader.stop();
    if (times > 1) await other.stop();
  }
  const driver = scriptedPlacedriver({
    epoch: 1,
    nodes: [
      { name: 'a', port: leader.port },
      { name: 'b', port: other.port },
    ],
    partitions: [{ leader: 'a', replicas: ['a', 'b'] }],
  });
  const client = new Client(
    {
      placedrivers: ['placedriver:1'],
      sessions: effect === 'write-in-session',
      attemptsMax,
      // only who stays silent is to be taken for silent, however slow the machine is
      attemptTimeoutMs: row.answer === 'hang' ? 250 : 60_000,
      // a plain write that is never answered ends with its time
      timeoutMs: row.answer === 'hang' && effect === 'write' ? 2_500 : 60_000,
      backoffMaxMs: 40,
    },
    { get: driver.get },
  );
  client.on('error', () => {});
  opened.push({ close: async () => client.disconnect() });
  return { client, leader, other, done };
}

const outcome = (call: Promise<unknown>) =>
  call.then(String, (error: unknown) => {
    expect(error).toBeInstanceOf(ClientError);
    return (error as ClientError).code;
  });

const run = (client: Client, effect: Effect) =>
  effect === 'read' ? client.get('k') : client.set('k', 'v');

describe.each(rows.map((row) => [`${row.failure} (${String(row.answer).trim()})`, row] as const))(
  '%s',
  (_name, row) => {
    test.each(effects)('once, %s', async (effect) => {
      const { client, leader, done } = await scene(row, effect, 1);
      const expected = row.once[effect];
      expect(await outcome(run(client, effect))).toBe(expected);
      expect(done).toHaveLength(expected === 'OK' ? 1 : 0);
      const sent = leader.lines.filter(([name]) => name !== 'KV.SESSION');
      for (const line of sent) {
        expect(line[0]).toBe(effect === 'write-in-session' ? 'KV.ONCE' : row1(effect));
      }
      if (effect !== 'write-in-session' || expected !== 'OK') return;
      // The same session and number, unless the group does not know the session.
      const all = [...sent.map((line) => line.join(' ')), ...done];
      const tickets = new Set(all.map((line) => line.split(' ').slice(1, 3).join(' ')));
      expect(tickets.size).toBe(row.failure === 'sessionLost' ? 2 : 1);
    });

    test.each(effects)('always, %s', async (effect) => {
      // The session must have been opened for its writes to be sent at all.
      const { client } = await scene(row, effect, Number.POSITIVE_INFINITY);
      const call = run(client, effect);
      expect(await outcome(call)).toBe(row.always[effect]);
      await call.catch((error: ClientError) => {
        expect(error.retriable).toBe(['UNAVAILABLE', 'TIMEOUT'].includes(error.code));
      });
    });
  },
);

function row1(effect: Effect): string {
  return effect === 'read' ? 'GET' : 'SET';
}

test('a session lost after a reply was lost: the outcome is unknown, and it is not sent again', async () => {
  const answers: Answer[] = ['close', '-SESSIONLOST not known\r\n', '+OK\r\n'];
  const script = (line: readonly string[]) =>
    line[0] === 'KV.SESSION' ? undefined : (answers.shift() ?? '+OK\r\n');
  const peer = await startPeer(script);
  const driver = scriptedPlacedriver({
    epoch: 1,
    nodes: [{ name: 'a', port: peer.port }],
    partitions: [{ leader: 'a', replicas: ['a'] }],
  });
  const client = new Client({ placedrivers: ['p:1'] }, { get: driver.get });
  opened.push({ close: async () => client.disconnect() });
  expect(await outcome(client.incr('n'))).toBe('OUTCOME_UNKNOWN');
  expect(peer.commands).toEqual(['INCR n', 'INCR n']);
  expect(await outcome(client.incr('n'))).toBe('OK');
});

test('what has come while the process was busy is no silence: it is not sent again', async () => {
  const peer = await startPeer(([name]) => {
    if (name !== 'GET') return '+OK\r\n';
    // once the reply is on its way nothing of this process runs for longer than an attempt may take
    process.nextTick(() => {
      const untilMs = performance.now() + 800;
      while (performance.now() < untilMs);
    });
    return '+here\r\n';
  });
  const driver = scriptedPlacedriver({
    epoch: 1,
    nodes: [{ name: 'a', port: peer.port }],
    partitions: [{ leader: 'a', replicas: ['a'] }],
  });
  const options = { placedrivers: ['p:1'], sessions: false, attemptTimeoutMs: 400 };
  const client = new Client(options, { get: driver.get });
  opened.push({ close: async () => client.disconnect() });
  expect(await client.get('k')).toBe('here');
  expect(await client.set('k', 'v')).toBe('OK');
  expect(peer.commands).toEqual(['GET k', 'SET k v']);
});

test('refusals make nobody wait longer for one who is silent', async () => {
  const answers: Answer[] = [...Array<Answer>(8).fill('-TRYAGAIN later\r\n'), 'hang'];
  const leader = await startPeer(() => answers.shift() ?? 'hang');
  const other = await startPeer(() => '+here\r\n');
  const driver = scriptedPlacedriver({
    epoch: 1,
    nodes: [
      { name: 'a', port: leader.port },
      { name: 'b', port: other.port },
    ],
    partitions: [{ leader: 'a', replicas: ['a', 'b'] }],
  });
  const options = { placedrivers: ['p:1'], attemptTimeoutMs: 800, backoffMaxMs: 5 };
  const client = new Client(options, { get: driver.get });
  opened.push({ close: async () => client.disconnect() });
  // Doubled by each refusal it would be asked elsewhere after 205 s.
  expect(await client.get('k')).toBe('here');
  expect(leader.commands).toHaveLength(9);
});

test('lost once and refused ever after: unknown, and the text says so', async () => {
  const answers: Answer[] = ['close'];
  const script = (line: readonly string[]) =>
    line[0] === 'KV.SESSION' ? undefined : (answers.shift() ?? '-CLUSTERDOWN no leader\r\n');
  const peer = await startPeer(script);
  const driver = scriptedPlacedriver({
    epoch: 1,
    nodes: [{ name: 'a', port: peer.port }],
    partitions: [{ leader: 'a', replicas: ['a'] }],
  });
  const options = { placedrivers: ['p:1'], attemptsMax: 4, backoffMaxMs: 20 };
  const client = new Client(options, { get: driver.get });
  opened.push({ close: async () => client.disconnect() });
  const error = await client.incr('n').catch((failure: unknown) => failure);
  expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', retriable: false });
  expect(String(error)).toMatch(/incr may have taken effect: CLUSTERDOWN/);
});

describe('decide', () => {
  const limits = { attemptsMax: 5, timeoutMs: 1_000, backoffMinMs: 10, backoffMaxMs: 100 };
  const attempted = { effect: 'write', maybeDone: false, attempts: 1, elapsedMs: 0 } as const;

  test('every failure is of one outcome, and every outcome has one', () => {
    const outcomes = new Set(Object.values(failures).map(({ outcome: one }) => one));
    expect([...outcomes].sort()).toEqual([
      'done',
      'not-proposed',
      'partial',
      'partly-unknown',
      'reply',
      'session-lost',
      'unknown',
    ]);
  });

  test('pauses double up to their bound, with jitter', () => {
    const pauses = [1, 2, 3, 4].map((attempts) => {
      const found = decide('busy', { ...attempted, attempts }, limits, 1);
      return found.do === 'retry' ? found.afterMs : undefined;
    });
    expect(pauses).toEqual([10, 20, 40, 80]);
    const least = decide('busy', { ...attempted, attempts: 3 }, limits, 0);
    expect(least).toMatchObject({ do: 'retry', afterMs: 20 });
  });

  test('MOVED is followed at once, the first time', () => {
    expect(decide('moved', attempted, limits, 0)).toMatchObject({ afterMs: 0, refresh: true });
    const again = decide('moved', { ...attempted, attempts: 2 }, limits, 0);
    expect(again).toMatchObject({ do: 'retry', afterMs: 10 });
  });

  test('attempts and time end it; what was unknown before stays unknown', () => {
    const last = { ...attempted, attempts: 5 };
    expect(decide('busy', last, limits, 0)).toMatchObject({ do: 'fail', code: 'UNAVAILABLE' });
    const late = { ...attempted, elapsedMs: 999 };
    expect(decide('unsent', late, limits, 0)).toMatchObject({ code: 'UNAVAILABLE' });
    const uncertain = { ...last, effect: 'write-in-session', maybeDone: true } as const;
    expect(decide('busy', uncertain, limits, 0)).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(decide('partial', uncertain, limits, 0)).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    const read = { ...last, effect: 'read', maybeDone: true } as const;
    expect(decide('busy', read, limits, 0)).toMatchObject({ code: 'UNAVAILABLE' });
    expect(decide('lost', { ...read, maybeDone: false }, limits, 0)).toMatchObject({
      code: 'TIMEOUT',
    });
  });
});

test('errors are known by their first word', () => {
  expect(failureOf('MOVED 1 a:2')).toBe('moved');
  expect(failureOf('ERR_CLUSTER_CHANGED: partition is not leader')).toBe('clusterChanged');
  expect(failureOf('ERR unknown command')).toBe('reply');
  expect(failureOf('DONEX')).toBe('reply');
  expect(failureOf('')).toBe('reply');
  expect(movedTo('MOVED 1 ::1:7001')).toEqual({ host: '::1', port: 7001 });
  expect(movedTo('MOVED 1 :7001')).toEqual({ host: '', port: 7001 });
  expect(movedTo('MOVED 1 a:0')).toBe(undefined);
  expect(movedTo('MOVED')).toBe(undefined);
});
