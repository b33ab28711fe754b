/** Transactions on condition, against scripted nodes: what is sent, what is sent again, what is told. */
import { tracingChannel } from 'node:diagnostics_channel';
import { getEventListeners } from 'node:events';
import { afterEach, describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/common/clock.ts';
import { Client, type ClientError, type ClientOptions, type Watched } from '../../src/sdk/index.ts';
import {
  type Answer,
  array,
  bulk,
  Peer,
  type ScriptedTable,
  scriptedPlacedriver,
  startPeers,
} from './peer.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const NIL = '*-1\r\n';
const done = array('+OK\r\n');

/** What EXECs are answered, in order, the last one for ever; `n` is read as 5. */
function execs(...answers: Answer[]): Peer['script'] {
  return (line) => {
    const [name, key] = line[0] === 'KV.ONCE' ? line.slice(4) : line;
    switch (name) {
      case 'WATCH':
      case 'UNWATCH':
      case 'MULTI':
        return '+OK\r\n';
      case 'GET':
        return key === 'n' ? bulk('5') : '$-1\r\n';
      case 'EXEC':
        return answers.length > 1 ? answers.shift() : answers[0];
      case 'SET':
        return '+QUEUED\r\n';
      default:
        return undefined;
    }
  };
}

async function scene(
  scripts: readonly Peer['script'][],
  options: ClientOptions = {},
  partitions = 1,
  world: { readonly clock?: Clock } = {},
) {
  const { peers, nodes } = await startPeers(scripts, ends);
  const table: ScriptedTable = {
    epoch: 1,
    nodes,
    partitions: Array.from({ length: partitions }, () => {
      return { leader: 'n0', replicas: peers.map((_, at) => `n${at}`) };
    }),
  };
  const { get } = scriptedPlacedriver(table);
  const client = new Client(
    { placedrivers: ['p:1'], backoffMinMs: 1, backoffMaxMs: 4, ...options },
    { get, ...world },
  );
  client.on('error', () => {});
  ends.push(() => client.disconnect());
  return { client, peers, table, peer: peers[0]! };
}

const rejection = (call: Promise<unknown>) =>
  call.then(
    (value) => ({ resolved: value }),
    (error: unknown) => error as ClientError,
  );

/** Adds one to `n`. */
const raise = (client: Client, options = {}) =>
  client.watch('n', async (tx) => tx.multi().set('n', Number(await tx.get('n')) + 1), options);

const named = (peer: Peer, name: string) => peer.commands.filter((line) => line.startsWith(name));

test('watches, reads, and sends the transaction in the session, over a connection of its own', async () => {
  const { client, peer } = await scene([execs(done)]);
  expect(await raise(client)).toEqual([[null, 'OK']]);
  expect(peer.commands).toEqual(['WATCH n', 'GET n', 'MULTI', 'SET n 6', 'EXEC']);
  expect(peer.lines.at(-1)?.[0]).toBe('KV.ONCE');
  const { connections } = peer;
  await raise(client);
  expect(peer.connections, 'its connection is used again').toBe(connections);
});

test('a changed key: all of it again, until the bound', async () => {
  const { client, peer } = await scene([execs(NIL, NIL, done)]);
  const attempts: number[] = [];
  const result = await client.watch(['n'], async (tx) => {
    attempts.push(tx.attempt);
    return tx.multi().set('n', Number(await tx.get('n')) + 1);
  });
  expect(result).toEqual([[null, 'OK']]);
  expect(attempts).toEqual([1, 2, 3]);
  expect(named(peer, 'WATCH n')).toHaveLength(3);
  const sequences = peer.lines.flatMap(([name, , number]) => (name === 'KV.ONCE' ? [number] : []));
  expect(sequences).toEqual(['1', '2', '3']);

  const never = await scene([execs(NIL)]);
  const error = await rejection(raise(never.client, { attemptsMax: 4 }));
  expect(error).toMatchObject({ code: 'CONFLICT', retriable: true, partition: 0 });
  expect(named(never.peer, 'EXEC')).toHaveLength(4);
});

test('nothing to do: undefined; an empty transaction: no results; what it throws: that', async () => {
  const { client, peer } = await scene([execs(done)]);
  expect(await client.watch('n', () => undefined)).toBe(undefined);
  expect(await client.watch('n', (tx) => tx.multi())).toEqual([]);
  const own = new Error('own');
  expect(await rejection(client.watch('n', () => Promise.reject(own)))).toBe(own);
  expect(await rejection(client.watch('n', () => 5 as never))).toMatchObject({
    code: 'BAD_ARGUMENT',
  });
  await expect.poll(() => named(peer, 'UNWATCH')).toHaveLength(4);
  expect(named(peer, 'EXEC')).toEqual([]);
  expect(peer.connections, 'one connection for all').toBe(2);
});

describe('the reply of EXEC is lost', () => {
  const lines = (peer: Peer) => peer.lines.filter(([name]) => name !== 'KV.SESSION');

  test.each([
    ['it had run: its results, without a second one', array('+OK\r\n'), 1],
    ['it had not: another attempt', array(), 2],
    ['a key had changed: another attempt', NIL, 2],
  ] as const)('%s', async (_name, told, attempts) => {
    const { client, peer } = await scene([execs('close', told, done)]);
    let asked = 0;
    const result = await client.watch('n', (tx) => {
      asked++;
      return tx.multi().set('n', 1);
    });
    expect(result).toEqual([[null, 'OK']]);
    expect(asked).toBe(attempts);
    const onces = lines(peer).filter(([name]) => name === 'KV.ONCE');
    // The log is asked by an EXEC of nothing under the same number.
    expect(onces[1]).toEqual(onces[0]);
    const at = lines(peer).indexOf(onces[1]!);
    expect(lines(peer).slice(at - 2, at)).toEqual([['WATCH', 'n'], ['MULTI']]);
    if (attempts === 2) expect(onces[2]?.[2]).toBe('2');
  });

  test('nobody can tell: the outcome is unknown', async () => {
    const lost = await scene([execs('close', '-SESSIONLOST not known\r\n')]);
    expect(await rejection(raise(lost.client))).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    const without = await scene([execs('close', done)], { sessions: false });
    expect(await rejection(raise(without.client))).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(named(without.peer, 'EXEC')).toEqual(['EXEC']);
    const large = await scene([execs('-UNKNOWNOUTCOME who knows\r\n', '-DONE not kept\r\n')]);
    expect(await rejection(raise(large.client))).toMatchObject({ code: 'DONE' });
  });

  test('its session is forgotten: nothing is asked under another, which knows nothing of it', async () => {
    const { client, peer } = await scene([
      execs('close', '-SESSIONLOST not known\r\n', array(), done),
    ]);
    expect(await rejection(raise(client))).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(named(peer, 'EXEC')).toHaveLength(2);
    expect(named(peer, 'SET')).toHaveLength(1);
  });

  test('WATCH is refused when the log is asked: what EXEC of nothing answers is not its word', async () => {
    let refused = 1;
    const { client, peer } = await scene([execs('close', array(), done)]);
    const ready = peer.script;
    peer.script = (line, own) => {
      const isAsking = line[0] === 'WATCH' && named(own, 'EXEC').length === 1 && refused-- > 0;
      return isAsking ? '-NOPERM no\r\n' : ready(line, own);
    };
    expect(await rejection(raise(client))).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(named(peer, 'SET')).toHaveLength(1);
  });

  test('it hangs: the log is asked elsewhere', async () => {
    const { client, peers } = await scene([execs('hang'), execs(done)], { attemptTimeoutMs: 500 });
    expect(await raise(client)).toEqual([[null, 'OK']]);
    expect(named(peers[1]!, 'EXEC')).toHaveLength(1);
  });
});

test('a leader that moved: not proposed is begun anew', async () => {
  const { client, peers } = await scene([execs(done), execs(done)]);
  let moved = 2;
  const ready = peers[0]!.script;
  peers[0]!.script = (line, peer) => {
    const isExec = line[0] === 'KV.ONCE';
    if ((line[0] !== 'WATCH' && !isExec) || moved === 0) return ready(line, peer);
    if (isExec) moved--;
    else if (moved === 2) return ready(line, peer);
    else moved--;
    return `-MOVED 1 127.0.0.1:${peers[1]?.port}\r\n`;
  };
  expect(await raise(client)).toEqual([[null, 'OK']]);
  expect(named(peers[1]!, 'EXEC')).toHaveLength(1);
});

test('a session its group has forgotten is replaced, and nothing was run', async () => {
  const { client, peer } = await scene([execs('-SESSIONLOST not known\r\n', done)]);
  expect(await raise(client)).toEqual([[null, 'OK']]);
  const ids = peer.lines.flatMap(([name, id]) => (name === 'KV.ONCE' ? [id] : []));
  expect(new Set(ids).size).toBe(2);
});

test('a command that cannot be queued: EXECABORT, and why', async () => {
  const { client, peer } = await scene([execs('-EXECABORT discarded\r\n')]);
  const ready = peer.script;
  peer.script = (line, own) => (line[0] === 'SET' ? '-ERR wrong number\r\n' : ready(line, own));
  const error = await rejection(raise(client));
  expect(error).toMatchObject({ code: 'EXECABORT', retriable: false });
  expect(String((error as ClientError).cause)).toMatch(/wrong number/);
});

test('what has no place in it is refused before it is sent', async () => {
  const { client, peer } = await scene([execs(done)], {}, 2);
  await client.connect();
  const code = async (call: Promise<unknown>) => ((await rejection(call)) as ClientError).code;
  const body = (tx: Watched) => tx.multi();
  const apart = ['b', 'c', 'd'].find((key) => client.partitionOf(key) !== client.partitionOf('a'))!;
  expect(await code(client.watch(['a', apart], body))).toBe('CROSSSLOT');
  expect(await code(client.watch('a', (tx) => tx.multi().set(apart, 1)))).toBe('CROSSSLOT');
  expect(await code(client.watch([] as string[], body))).toBe('BAD_ARGUMENT');
  expect(await code(client.watch('a', undefined as never))).toBe('BAD_ARGUMENT');
  expect(await code(client.watch('a', body, { attemptsMax: 0 }))).toBe('BAD_ARGUMENT');
  expect(await code(client.watch('a', body, null as never))).toBe('BAD_ARGUMENT');
  expect(await code(client.watch('a', (tx) => tx.multi().ping()))).toBe('BAD_ARGUMENT');
  expect(await code(client.watch('a', (tx) => tx.multi().call('SUBSCRIBE', 'x')))).toBe(
    'BAD_ARGUMENT',
  );
  const write = client.watch('a', async (tx) => (await tx.call('SET', 'a', 1)) as never);
  expect(await code(write)).toBe('BAD_ARGUMENT');
  const options = client.watch('a', async (tx) => (await tx.get('a', { timeoutMs: 5 })) as never);
  expect(await code(options)).toBe('BAD_ARGUMENT');
  expect(await code(client.call('WATCH', 'a'))).toBe('BAD_ARGUMENT');
  expect(named(peer, 'EXEC')).toEqual([]);
});

test('its reads are linearizable whatever the client prefers', async () => {
  const { client, peer, table } = await scene([execs(done)], {
    consistency: 'stale',
    lazyConnect: true,
  });
  const follower = await Peer.start(() => bulk('old'));
  ends.push(() => follower.stop());
  table.nodes.push({ name: 'f', port: follower.port, followerPort: follower.port } as never);
  table.partitions[0]!.replicas.push('f');
  await raise(client);
  expect(await client.get('n')).toBe('old');
  expect(named(peer, 'SET')).toEqual(['SET n 6']);
});

describe('ends', () => {
  const slow = (client: Client, options = {}) => {
    let ended: AbortSignal | undefined;
    const call = client.watch(
      'n',
      (tx) => {
        ended = tx.signal;
        return new Promise(() => {});
      },
      options,
    );
    return { call, signal: () => ended };
  };

  test('the time limit, a signal, the end of the client', async () => {
    const { client } = await scene([execs(done)], { timeoutMs: 5_000 });
    await raise(client);
    const late = slow(client, { timeoutMs: 1_000 });
    expect(await rejection(late.call)).toMatchObject({ code: 'TIMEOUT' });
    expect(late.signal()?.aborted).toBe(true);
    const abort = new AbortController();
    const aborted = slow(client, { signal: abort.signal });
    await expect.poll(() => aborted.signal()).toBeDefined();
    abort.abort(new Error('enough'));
    expect(await rejection(aborted.call)).toMatchObject({
      code: 'ABORTED',
      cause: new Error('enough'),
    });
    const already = slow(client, { signal: AbortSignal.abort() });
    expect(await rejection(already.call)).toMatchObject({ code: 'ABORTED' });
    const closed = slow(client);
    await expect.poll(() => closed.signal()).toBeDefined();
    client.disconnect();
    expect(await rejection(closed.call)).toMatchObject({ code: 'CLOSED' });
  });

  test('aborted before WATCH was sent: it takes no connection', async () => {
    const { client, peer } = await scene([execs(done)]);
    await raise(client);
    const { connections } = peer;
    const sent = peer.commands.length;
    const abort = new AbortController();
    const { signal } = abort;
    // more than may be under way at a time: the others begin when the first ones end
    const calls = Array.from({ length: 100 }, () => rejection(raise(client, { signal })));
    abort.abort();
    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ code: 'ABORTED' });
    await raise(client);
    expect(peer.commands.slice(sent)).toEqual(['WATCH n', 'GET n', 'MULTI', 'SET n 6', 'EXEC']);
    expect(peer.connections).toBe(connections);
  });

  test('its turn has not come: it never begins, and leaves its place to another', async () => {
    const { client, peer } = await scene([execs(done)], { maxQueued: 1 });
    await raise(client);
    let go = () => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    let begun = 0;
    const first = Array.from({ length: 64 }, () =>
      client.watch('n', async (tx) => {
        begun++;
        await held;
        return tx.multi().set('n', 1);
      }),
    );
    await expect.poll(() => begun).toBe(64);
    const abort = new AbortController();
    const given = rejection(client.watch('given', () => undefined, { signal: abort.signal }));
    await Promise.resolve();
    abort.abort();
    expect(await given).toMatchObject({ code: 'ABORTED' });
    const next = client.watch('next', () => undefined);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(named(peer, 'WATCH next'), 'while 64 are under way').toEqual([]);
    go();
    await Promise.all([...first, next]);
    expect(named(peer, 'WATCH given')).toEqual([]);
  });

  test('what it has watched ends with its connection, whatever ends it', async () => {
    const { client, peer } = await scene([execs(done)]);
    await raise(client);
    const abort = new AbortController();
    const given = slow(client, { signal: abort.signal });
    await expect.poll(() => given.signal()).toBeDefined();
    const { size } = peer.sockets;
    abort.abort();
    expect(await rejection(given.call)).toMatchObject({ code: 'ABORTED' });
    await expect.poll(() => peer.sockets.size).toBe(size - 1);

    const ready = peer.script;
    peer.script = (line, own) => (line[0] === 'UNWATCH' ? '-NOPERM no\r\n' : ready(line, own));
    expect(await client.watch('n', () => undefined)).toBe(undefined);
    await expect.poll(() => peer.sockets.size).toBe(size - 1);
  });

  test('nothing is left of it: no timer, and no listener of its signal', async () => {
    const timers = new Map<object, number>();
    let armed = 0;
    const clock: Clock = {
      ...systemClock,
      setTimer(delayMs, run) {
        const timer = systemClock.setTimer(delayMs, () => {
          timers.delete(own);
          run();
        });
        const own = {
          cancel() {
            timers.delete(own);
            timer.cancel();
          },
        };
        timers.set(own, delayMs);
        armed++;
        return own;
      },
    };
    const pauses = { backoffMinMs: 100_000, backoffMaxMs: 100_000, timeoutMs: 500_000 };
    const { client } = await scene([execs(done, NIL)], pauses, 1, { clock });
    await raise(client);
    const abort = new AbortController();
    const { signal } = abort;
    const pausing = rejection(raise(client, { signal }));
    await expect.poll(() => [...timers.values()].some((ms) => ms >= 50_000)).toBe(true);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    abort.abort();
    expect(await pausing).toMatchObject({ code: 'ABORTED' });
    const kept = new AbortController();
    await client.watch('n', () => undefined, { signal: kept.signal });
    expect(getEventListeners(kept.signal, 'abort')).toEqual([]);
    expect([...timers.values()].filter((ms) => ms >= 50_000)).toEqual([]);
    // whoever is under way is looked at every 20 ms
    await new Promise((resolve) => setTimeout(resolve, 50));
    const before = armed;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(armed - before).toBeLessThan(3);
  });

  test('while EXEC is under way the outcome is not known', async () => {
    const { client } = await scene([execs(done, 'hang')]);
    await raise(client);
    expect(await rejection(raise(client, { timeoutMs: 1_000 }))).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      retriable: false,
    });
  });

  test('close waits for it, with its reads; drain too', async () => {
    const { client } = await scene([execs(done)]);
    let go = () => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    let begun = false;
    const call = client.watch('n', async (tx) => {
      begun = true;
      await held;
      return tx.multi().set('n', Number(await tx.get('n')) + 1);
    });
    await expect.poll(() => begun).toBe(true);
    let drained = false;
    void client.drain().then(() => {
      drained = true;
    });
    const closed = client.close();
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(drained).toBe(false);
    go();
    expect(await call).toEqual([[null, 'OK']]);
    await closed;
    expect(drained).toBe(true);
  });
});

describe('one attempt leaves nothing to the next', () => {
  const lows = (peer: Peer) =>
    peer.lines.flatMap(([name, , number, low]) => (name === 'KV.ONCE' ? [[number, low]] : []));

  test('failures before EXEC are counted in a row: a conflict between them begins anew', async () => {
    const rounds = 12;
    const conflicts = Array.from({ length: rounds }, () => NIL);
    const { client, peer } = await scene([execs(...conflicts, done)], {
      attemptsMax: 3,
      timeoutMs: 20_000,
    });
    const ready = peer.script;
    let watches = 0;
    peer.script = (line, own) =>
      line[0] === 'WATCH' && watches++ % 2 === 0 ? '-TRYAGAIN later\r\n' : ready(line, own);
    expect(await raise(client, { attemptsMax: 100 })).toEqual([[null, 'OK']]);
    expect(named(peer, 'EXEC')).toHaveLength(rounds + 1);
  });

  test('its number is answered: the server need keep no reply of it', async () => {
    const { client, peer } = await scene([execs(NIL, done)]);
    await raise(client);
    await raise(client);
    expect(lows(peer)).toEqual([
      ['1', '1'],
      ['2', '2'],
      ['3', '3'],
    ]);
  });

  test('nor of one that was given up', async () => {
    const { client, peer } = await scene([execs('hang', done)]);
    const abort = new AbortController();
    const given = rejection(raise(client, { signal: abort.signal }));
    await expect.poll(() => named(peer, 'EXEC')).toHaveLength(1);
    abort.abort();
    expect(await given).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    await raise(client);
    expect(lows(peer).at(-1)).toEqual(['2', '2']);
  });

  test.each([
    ['a changed key', [NIL, done]],
    ['one that had not run, as the log says', ['close', array(), done]],
  ] as const)('%s: what comes next is certain to have no effect', async (_name, answers) => {
    const { client } = await scene([execs(...answers)]);
    const abort = new AbortController();
    const call = client.watch(
      'n',
      (tx) => {
        if (tx.attempt === 1) return tx.multi().set('n', 1);
        abort.abort();
        return new Promise<undefined>(() => {});
      },
      { signal: abort.signal },
    );
    expect(await rejection(call)).toMatchObject({ code: 'ABORTED' });
  });

  test('a session that another has lost between MULTI and EXEC: that connection is closed', async () => {
    const scripts = [execs('-SESSIONLOST not known\r\n', done)];
    const { client, peer } = await scene(scripts, { timeoutMs: 5_000 });
    let go = () => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    let begun = false;
    const second = client.watch('m', async (tx) => {
      begun = true;
      if (tx.attempt === 1) await held;
      return tx.multi().set('m', 1);
    });
    await expect.poll(() => begun).toBe(true);
    const ready = peer.script;
    peer.script = (line, own) => {
      if (line[0] !== 'KV.SESSION') return ready(line, own);
      // the first one's EXEC has told that it is lost: the next is open when the second has left
      const { size } = own.sockets;
      go();
      return new Promise((resolve) => {
        const look = setInterval(() => own.sockets.size < size && resolve('+OK\r\n'), 5);
        ends.push(() => clearInterval(look));
      });
    };
    const results = await Promise.all([rejection(raise(client)), rejection(second)]);
    expect(results).toEqual([{ resolved: [[null, 'OK']] }, { resolved: [[null, 'OK']] }]);
    expect(named(peer, 'WATCH m')).toHaveLength(2);
  });

  test('no time for the pause behind a conflict: it says so at once', async () => {
    const { client } = await scene([execs(NIL)], { backoffMinMs: 60_000, backoffMaxMs: 60_000 });
    expect(await rejection(raise(client, { timeoutMs: 20_000 }))).toMatchObject({
      code: 'CONFLICT',
    });
  });
});

describe('the log is asked whether EXEC has run', () => {
  /** Its answer is what the test resolves. */
  async function asking() {
    let tell = (_text: string) => {};
    const told = new Promise<string>((resolve) => {
      tell = resolve;
    });
    const { client, peer } = await scene([execs('close', told, done)]);
    await client.get('n');
    const abort = new AbortController();
    const call = rejection(raise(client, { signal: abort.signal }));
    await expect.poll(() => named(peer, 'EXEC')).toHaveLength(2);
    return { client, peer, abort, call, tell };
  }

  test('over a connection of its own: nobody else waits for the answer', async () => {
    const { client, call, tell } = await asking();
    expect(await client.get('n', { timeoutMs: 5_000 })).toBe('5');
    tell(done);
    expect(await call).toEqual({ resolved: [[null, 'OK']] });
  });

  test('until it is given up, which closes that connection', async () => {
    const { peer, abort, call } = await asking();
    const { size } = peer.sockets;
    abort.abort();
    expect(await call).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    await expect.poll(() => peer.sockets.size).toBe(size - 1);
  });
});

test('64 at a time; the others wait', async () => {
  const { client } = await scene([execs(done)]);
  let now = 0;
  let most = 0;
  let open = () => {};
  const full = new Promise<void>((resolve) => {
    open = resolve;
  });
  const one = () =>
    client.watch('n', async (tx) => {
      most = Math.max(most, ++now);
      if (now === 64) setTimeout(open, 20);
      await full;
      now--;
      return tx.multi().set('n', 1);
    });
  const all = await Promise.all(Array.from({ length: 200 }, one));
  expect(all).toHaveLength(200);
  expect(most).toBe(64);
});

test('the batch channel tells it', async () => {
  const { client } = await scene([execs(NIL, done)]);
  const told: unknown[] = [];
  const hear = (message: unknown) => void told.push(message);
  const channel = tracingChannel('kvorum:batch');
  channel.asyncEnd.subscribe(hear);
  await raise(client);
  channel.asyncEnd.unsubscribe(hear);
  expect(told).toEqual([
    expect.objectContaining({ kind: 'watch', commands: 1, partition: 0, attempts: 2 }),
  ]);
});
