import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import type { NodeCommand } from '../../../src/datanode/commands/rows/command.ts';
import { resolveCommand } from '../../../src/datanode/commands/table/table.ts';
import { encodeReply } from '../../../src/datanode/resp/encode-reply.ts';
import { OK, type Protocol, type Reply } from '../../../src/datanode/resp/reply.ts';
import { completeExec, Transaction } from '../../../src/datanode/server/transaction.ts';
import { type Doors, openDoors, RawClient, rebuild } from './doors.ts';

let doors: Doors;
let client: RawClient;

beforeEach(async () => {
  doors = await openDoors(4);
  client = await RawClient.open(doors.gateway);
});

afterEach(async () => {
  client.end();
  await doors.close();
});

// Keys of four partitions: slots 15495 (a), 3300 (b), 7365 (c), 11298 (d).
const a = 3;

async function ask(...lines: string[]): Promise<string> {
  const from = client.text.length;
  client.send(...lines, 'ECHO end');
  const text = await client.until((all) => all.slice(from).endsWith('$3\r\nend\r\n'));
  return text.slice(from, -'$3\r\nend\r\n'.length);
}

const crossSlot = /-CROSSSLOT Keys in request don't hash to the same slot[^\r]*\r\n/g;

test('a transaction reaches its partition as one line', async () => {
  expect(await ask('MULTI', 'SET a 1', 'PING', 'GET a', 'EXEC')).toBe(
    '+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n+OK\r\n+PONG\r\n$1\r\n1\r\n',
  );
  expect(doors.partitions[a]!.batches.map(({ lines }) => lines.length)).toEqual([1]);
  expect(doors.partitions[a]!.batches[0]!.lines[0]![0]!.toString()).toBe('EXEC');
});

test('a key of a second partition is refused at once, and EXEC with it', async () => {
  const text = await ask('MULTI', 'SET a 1', 'SET b 1', 'EXEC', 'GET a');
  expect(text.replace(crossSlot, 'CROSSSLOT\r\n')).toBe(
    '+OK\r\n+QUEUED\r\nCROSSSLOT\r\n' +
      '-EXECABORT Transaction discarded because of previous errors.\r\n$-1\r\n',
  );
});

test('a fan-out and a watch in another partition are refused in the same way', async () => {
  const fanOut = await ask('MULTI', 'SET a 1', 'MSET a 1 b 2', 'DBSIZE', 'EXEC');
  expect(fanOut.match(crossSlot)).toHaveLength(1);
  expect(fanOut).toContain('-CROSSSLOT the command is about all partitions of the namespace');
  expect(fanOut).toContain('-EXECABORT');
  const watched = await ask('WATCH a', 'WATCH b', 'MULTI', 'SET b 1', 'EXEC', 'UNWATCH');
  expect(watched.match(crossSlot)).toHaveLength(2);
  expect(watched).toContain('-EXECABORT');
});

test.each(['SAVE', 'SHUTDOWN NOW'])('%s is refused at once, and EXEC with it', async (command) => {
  expect(await ask('MULTI', command, 'EXEC', command)).toMatch(
    /^\+OK\r\n-ERR Command not allowed inside a transaction\r\n-EXECABORT [^\r]*\r\n[+-]/,
  );
});

test('what is larger than a request may be is refused when it is queued, and EXEC with it', async () => {
  const value = 'v'.repeat(limits.valueBytesMax);
  client.send('MULTI', ...Array.from({ length: 5 }, () => `SET a ${value}`), 'PING');
  const queued = await client.until((all) => all.split('\r\n').length === 8);
  expect(queued).toMatch(
    /^\+OK\r\n(\+QUEUED\r\n){3}-ERR the commands of a transaction have at most 62914560 bytes together, [^\r]*\(limits\.requestBytesMax\)[^\r]*\r\n(\+QUEUED\r\n){2}$/,
  );
  const other = await RawClient.open(doors.gateway);
  other.send('CLIENT LIST', 'ECHO end');
  expect(await other.until((all) => all.endsWith('$3\r\nend\r\n'))).toMatch(/ flags=x .* multi=0 /);
  other.end();
  expect(await ask('EXEC', 'EXISTS a', 'MULTI', 'PING', 'EXEC')).toBe(
    '-EXECABORT Transaction discarded because of previous errors.\r\n:0\r\n' +
      '+OK\r\n+QUEUED\r\n*1\r\n+PONG\r\n',
  );
  const lines = doors.partitions[a]!.batches.flatMap((batch) => batch.lines);
  expect(lines.map(([name]) => String(name))).toEqual(['EXISTS']);
});

test('commands of the node alone need no partition', async () => {
  expect(await ask('MULTI', 'PING', 'ECHO x', 'EXEC')).toBe(
    '+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+PONG\r\n$1\r\nx\r\n',
  );
  expect(doors.partitions.every(({ batches }) => batches.length === 0)).toBe(true);
});

/** HELLO's answer: its shape, and the protocol. */
const greeting =
  /([*%]\d+)\r\n\$6\r\nserver\r\n(?:.*\r\n)*?\$5\r\nproto\r\n:(\d)\r\n(?:.*\r\n)*?\*0\r\n/g;

/** EXEC's answer alone. */
async function exec(...lines: string[]): Promise<string> {
  const text = await ask('MULTI', ...lines, 'EXEC');
  return text.slice(text.indexOf(`*${lines.length}\r\n`)).replace(greeting, '<$1 $2>');
}

test('HELLO in a transaction: each reply is in the protocol of its moment', async () => {
  const reads = ['HGETALL {a}', 'GET {a}', 'BLPOP {a} 0'];
  expect(await exec(...reads, 'HELLO 3', ...reads)).toBe(
    '*7\r\n*0\r\n$-1\r\n*-1\r\n<%7 3>%0\r\n_\r\n_\r\n',
  );
  expect(await ask('HGETALL {a}')).toBe('%0\r\n');
  expect(await exec('HELLO 3', ...reads, 'HELLO 2', ...reads, 'HELLO 3', 'GET {a}')).toBe(
    '*10\r\n<%7 3>%0\r\n_\r\n_\r\n<*14 2>*0\r\n$-1\r\n*-1\r\n<%7 3>_\r\n',
  );
  expect(await exec('HGETALL {a}', 'HELLO 2', 'HGETALL {a}')).toBe('*3\r\n%0\r\n<*14 2>*0\r\n');
  expect(await ask('HGETALL {a}')).toBe('*0\r\n');
});

test('so are those that another node answered, in what they can still be', async () => {
  const read = { kind: 'data', name: 'hgetall', line: [Buffer.from('HGETALL')] } as const;
  const command = resolveCommand([Buffer.from('HELLO')]) as NodeCommand;
  const answered = async (from: Protocol, to: Protocol, bytes: string) => {
    let protocol = from;
    const greet = () => {
      protocol = to;
      return OK;
    };
    const queue = [read, { kind: 'node', name: 'hello', command, args: [] } as const, read];
    const data: Reply = { kind: 'encoded', bytes: Buffer.from(bytes) };
    const reply = await completeExec(queue, data, greet, () => protocol);
    return encodeReply(reply, from).toString();
  };
  const map = '%1\r\n$1\r\nf\r\n,0.5\r\n';
  const flat = '*2\r\n$1\r\nf\r\n$3\r\n0.5\r\n';
  expect(await answered(3, 2, `*2\r\n${map}${map}`)).toBe(`*3\r\n${map}+OK\r\n${flat}`);
  expect(await answered(2, 3, `*2\r\n$-1\r\n$-1\r\n`)).toBe('*3\r\n$-1\r\n+OK\r\n_\r\n');
  expect(await answered(2, 3, `*2\r\n${flat}${flat}`)).toBe(`*3\r\n${flat}+OK\r\n${flat}`);
});

describe('a partition that is rebuilt between MULTI and EXEC', () => {
  async function queued(...before: string[]): Promise<void> {
    for (const line of [...before, 'MULTI']) await client.ask(line, '+OK\r\n');
    await client.ask('SET a 1', '+QUEUED\r\n');
  }

  test.each([[0], [a]])('(%i) does not end a transaction', async (partition) => {
    await queued();
    for (let times = 0; times < 2; times++) rebuild(doors, partition);
    expect(await ask('EXEC')).toBe('*1\r\n+OK\r\n');
  });

  test('breaks a watch in it, and in no other', async () => {
    for (const [partition, answer] of [
      [0, '*1\r\n+OK\r\n'],
      [a, '*-1\r\n'],
    ] as const) {
      await queued('WATCH a');
      rebuild(doors, partition);
      expect(await ask('EXEC')).toBe(answer);
    }
  });

  test('differs from one whose namespace was made anew', async () => {
    await queued();
    const records = doors.routes.partitions('default')!;
    doors.routes.setPartitions(records.map((of) => ({ ...of, group: of.group + 100 })));
    expect(await ask('EXEC')).toMatch(/^-EXECABORT [^\r]* its namespace was deleted meanwhile/);
  });
});

test('on the cluster port a key that is led elsewhere is redirected when it is queued', async () => {
  doors.partitions[a]!.isLeader = false;
  doors.routes.setLeader(a + 1, 'b', 1);
  client.end();
  client = await RawClient.open(doors.cluster);
  const text = await ask('MULTI', 'SET a 1', 'EXEC');
  expect(text).toMatch(/^\+OK\r\n-MOVED 15495 127\.0\.0\.1:7002\r\n-EXECABORT/);
});

test('on the cluster port WATCH of a key that is led elsewhere names the slot of that key', async () => {
  doors.partitions[a]!.isLeader = false;
  doors.routes.setLeader(a + 1, 'b', 1);
  client.end();
  client = await RawClient.open(doors.cluster);
  expect(await ask('WATCH a')).toBe('-MOVED 15495 127.0.0.1:7002\r\n');
});

describe('a WATCH that was refused watches nothing', () => {
  const moved = '-MOVED 15495 127.0.0.1:7002\r\n';
  const transaction = ['MULTI', 'SET b 1', 'EXEC'];
  const ran = '+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n';

  async function leaderless(): Promise<void> {
    await doors.close();
    doors = await openDoors(4, { holdMs: 50 });
    doors.partitions[a]!.isLeader = false;
    client.end();
    client = await RawClient.open(doors.gateway);
  }

  test('where it is led elsewhere, also when the transaction came with it', async () => {
    doors.partitions[a]!.isLeader = false;
    doors.routes.setLeader(a + 1, 'b', 1);
    client.end();
    client = await RawClient.open(doors.cluster);
    expect(await ask('WATCH a', ...transaction)).toBe(moved + ran);
  });

  test('where nobody leads', async () => {
    await leaderless();
    expect(await ask('WATCH a')).toMatch(/^-CLUSTERDOWN/);
    expect(await ask(...transaction)).toBe(ran);
    expect(await ask('WATCH b', ...transaction)).toBe(`+OK\r\n${ran}`);
  });

  test('what was watched before still is', async () => {
    await leaderless();
    doors.partitions[a]!.isLeader = true;
    expect(await ask('WATCH a')).toBe('+OK\r\n');
    doors.partitions[a]!.isLeader = false;
    expect(await ask('WATCH {a}2')).toMatch(/^-CLUSTERDOWN/);
    doors.partitions[a]!.isLeader = true;
    await ask('MULTI', 'SET a 1', 'EXEC');
    const [, token, calls] = doors.partitions[a]!.batches.at(-1)!.lines[0]!;
    const [watched] = doors.partitions[a]!.batches[0]!.lines;
    expect([token, calls]).toEqual([watched![1], Buffer.from('1')]);
  });

  test('and a transaction that came with it runs nothing', async () => {
    await leaderless();
    const text = await ask('WATCH a', 'MULTI', 'PING', 'EXEC');
    expect(text).toMatch(/^-CLUSTERDOWN [^\r]*\r\n\+OK\r\n\+QUEUED\r\n(-CLUSTERDOWN|\*-1)/);
  });
});

test('a transaction waits for what was sent before it and holds back what comes after', async () => {
  const open = doors.partitions[a]!.shut();
  client.send('SET a 1', 'MULTI', 'INCR a', 'EXEC', 'GET a');
  await client.until(() => doors.partitions[a]!.batches.length === 1);
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(doors.partitions[a]!.batches).toHaveLength(1);
  open();
  expect(await client.until((text) => text.endsWith('$1\r\n2\r\n'))).toBe(
    '+OK\r\n+OK\r\n+QUEUED\r\n*1\r\n:2\r\n$1\r\n2\r\n',
  );
});

test('WATCH leaves when what was sent before it is applied: that is no change of what it watches', async () => {
  const open = doors.partitions[a]!.shut();
  client.send('SET a 1', 'SET a 2', 'WATCH a', 'WATCH {a}2', 'SET a 3');
  await client.until(() => doors.partitions[a]!.batches.length === 1);
  open();
  await client.until((text) => text === '+OK\r\n'.repeat(5));
  const names = doors.partitions[a]!.batches.map(({ lines }) => lines.map(([name]) => `${name}`));
  expect(names).toEqual([['SET', 'SET'], ['WATCH'], ['WATCH', 'SET']]);
});

test('RESET forgets the queue and the watch', async () => {
  expect(await ask('WATCH a', 'MULTI', 'SET a 1', 'RESET', 'EXEC')).toBe(
    '+OK\r\n+OK\r\n+QUEUED\r\n+RESET\r\n-ERR EXEC without MULTI\r\n',
  );
});

test('CLIENT LIST tells who is in a transaction and how far, SLOWLOG nothing of how a watch is kept', async () => {
  expect(await ask('CLIENT INFO')).toMatch(/ flags=N .* multi=-1 /);
  await ask('CONFIG SET slowlog-log-slower-than 0', 'WATCH a');
  expect(await ask('SLOWLOG GET 1')).toContain('*2\r\n$4\r\nECHO\r\n');
  expect(await ask('SLOWLOG GET 5')).toContain('*2\r\n$5\r\nWATCH\r\n$1\r\na\r\n');
  client.send('MULTI', 'SET a 1', 'GET a');
  await client.until((all) => all.endsWith('+QUEUED\r\n+QUEUED\r\n'));
  const other = await RawClient.open(doors.gateway);
  other.send('CLIENT LIST', 'ECHO end');
  const list = await other.until((all) => all.endsWith('$3\r\nend\r\n'));
  expect(list).toMatch(/ flags=x .* multi=2 .* cmd=get /);
  other.end();
});

test.each([
  ['MULTI', 'multi'],
  ['MULTI', 'SET a 1', 'set'],
  ['MULTI', 'SET a 1', 'DISCARD', 'discard'],
  ['MULTI', 'GET', 'get'],
  ['WATCH a', 'SET a', 'set'],
  ['PING', 'SET a x PX no', 'set'],
  ['PING', 'NOSUCH', 'NULL'],
])('CLIENT LIST tells what was sent last, run or not: %s, %s', async (...words) => {
  const command = words.pop()!;
  const [, id] = /:(\d+)/.exec(await ask('CLIENT ID'))!;
  const before = client.text;
  client.send(...words);
  await client.until((all) => all.slice(before.length).split('\r\n').length > words.length);
  const other = await RawClient.open(doors.gateway);
  other.send(`CLIENT LIST ID ${id}`, 'ECHO end');
  const list = await other.until((all) => all.endsWith('$3\r\nend\r\n'));
  expect(list).toContain(` cmd=${command} `);
  other.end();
});

test('commands of a transaction are counted when it runs, each by what it answered', async () => {
  await ask('CONFIG RESETSTAT', 'SET a x', 'MULTI', 'INCR a', 'GET a', 'DISCARD');
  expect(await ask('INFO commandstats')).not.toMatch(/cmdstat_(incr|get):/);
  await ask('MULTI', 'INCR a', 'INCR a', 'GET a', 'PING', 'SET a 1 EX no', 'EXEC');
  const stats = await ask('INFO commandstats', 'INFO errorstats');
  expect(stats).toMatch(/cmdstat_incr:calls=2,[^\r]*,rejected_calls=0,failed_calls=2\r/);
  expect(stats).toMatch(/cmdstat_get:calls=1,[^\r]*,failed_calls=0\r/);
  expect(stats).toMatch(/cmdstat_ping:calls=1,[^\r]*,failed_calls=0\r/);
  expect(stats).toMatch(/cmdstat_set:calls=2,[^\r]*,failed_calls=1\r/);
  expect(stats).toMatch(/errorstat_ERR:count=3\r/);
});

test('nothing of a transaction whose watch is broken is counted', async () => {
  await ask('CONFIG RESETSTAT', 'WATCH a');
  rebuild(doors, a);
  expect(await ask('MULTI', 'GET a', 'EXEC')).toBe('+OK\r\n+QUEUED\r\n*-1\r\n');
  expect(await ask('INFO commandstats')).not.toMatch(/cmdstat_get:/);
});

test('a slow transaction is in SLOWLOG by what it ran, each with what it took', async () => {
  await ask('CONFIG SET slowlog-log-slower-than 50000', 'SLOWLOG RESET');
  await ask('MULTI', 'SET a 1', 'DEBUG SLEEP 0.06', 'BLPOP a 0', 'EXEC');
  expect(await ask('SLOWLOG GET')).toMatch(
    /^\*1\r\n\*6\r\n:\d+\r\n:\d+\r\n:(?:59|[6-9]\d|\d{3,})\d{3}\r\n\*3\r\n\$5\r\nDEBUG\r\n/,
  );
  await ask('CONFIG SET slowlog-log-slower-than 0', 'SLOWLOG RESET');
  await ask('MULTI', 'SET a 1', 'BLPOP a 0', 'AUTH default secret', 'EXEC');
  const text = await ask('SLOWLOG GET');
  const names = [...text.matchAll(/\*\d\r\n\$\d+\r\n([A-Z]+)\r\n/g)]
    .map(([, name]) => name)
    .filter((name) => name !== 'ECHO');
  expect(names).toEqual(['AUTH', 'BLPOP', 'SET', 'SLOWLOG']);
  expect(text).not.toContain('secret');
});

test('of a transaction in which nothing took that long, EXEC is in SLOWLOG; and in LATENCY always', async () => {
  await ask('CONFIG SET slowlog-log-slower-than 30000 latency-monitor-threshold 20');
  const open = doors.partitions[a]!.shut();
  const sets = Array.from({ length: 100 }, () => 'SET a 1');
  client.send('SLOWLOG RESET', 'MULTI', ...sets, 'EXEC');
  await client.until(() => doors.partitions[a]!.batches.length === 1);
  setTimeout(open, 40);
  await client.until((all) => all.endsWith(`*100\r\n${'+OK\r\n'.repeat(100)}`));
  expect(await ask('SLOWLOG GET 1')).toContain('*1\r\n$4\r\nEXEC\r\n');
  expect(await ask('LATENCY LATEST')).toMatch(/^\*1\r\n\*4\r\n\$7\r\ncommand\r\n/);
});

test('what a user may not do is refused when it is queued, and EXEC with it', async () => {
  await ask('ACL SETUSER bob on nopass +@all -del ~a*', 'AUTH bob x');
  expect(await ask('MULTI', 'SET a 1', 'DEL a', 'SET b 1', 'EXEC')).toBe(
    '+OK\r\n+QUEUED\r\n' +
      "-NOPERM this user has no permissions to run the 'del' command\r\n" +
      '-NOPERM this user has no permissions to access one of the keys used as arguments\r\n' +
      '-EXECABORT Transaction discarded because of previous errors.\r\n',
  );
});

describe('what was judged as it was queued', () => {
  const world = () => {
    const asked: string[] = [];
    const rights: { now: object | undefined } = { now: {} };
    const transaction = new Transaction({
      namespace: () => 'default',
      birth: () => 1,
      group: () => 1,
      rights: () => rights.now,
      refusedNow: (line) => {
        asked.push(line.join(' '));
        return undefined;
      },
      newToken: () => 'token',
      redirect: () => undefined,
    });
    const run = (line: string) => {
      const args = line.split(' ').map((word) => Buffer.from(word));
      const command = resolveCommand(args)!;
      const target =
        command.kind === 'node'
          ? ({ kind: 'node', command } as const)
          : ({ kind: 'one', command, partition: 0, prepared: undefined } as const);
      transaction.divert(target, args);
    };
    return { run, asked, rights };
  };

  test('is judged again at EXEC when the rules have changed, SORT at any time', () => {
    const { run, asked, rights } = world();
    for (const line of ['MULTI', 'GET a', 'SORT a by w_*', 'PING', 'EXEC']) run(line);
    expect(asked.splice(0)).toEqual(['SORT a by w_*']);
    for (const line of ['MULTI', 'GET a', 'PING']) run(line);
    rights.now = {};
    run('EXEC');
    expect(asked.splice(0)).toEqual(['GET a', 'PING']);
    rights.now = undefined;
    for (const line of ['MULTI', 'GET a', 'EXEC']) run(line);
    expect(asked).toEqual(['GET a']);
  });

  test('is refused when the rules have changed', async () => {
    await ask('ACL SETUSER bob on nopass +@all ~a*', 'AUTH bob x');
    client.send('MULTI', 'SET a 1', 'GET a');
    await client.until((all) => all.endsWith('+QUEUED\r\n+QUEUED\r\n'));
    const other = await RawClient.open(doors.gateway);
    await other.ask('ACL SETUSER bob -get', '+OK\r\n');
    other.end();
    const text = await ask('SORT a BY w_*', 'EXEC');
    expect(text).toMatch(/^\+QUEUED\r\n\*3\r\n\+OK\r\n-NOPERM ACLs rules changed between/);
    expect(text).toMatch(/\r\n-ERR BY option of SORT denied[^\r]*\r\n$/);
    expect(await ask('MULTI', 'SORT a BY w_*', 'EXEC')).toMatch(/\*1\r\n-ERR BY option of SORT/);
  });
});

describe('a client that goes while its EXEC waits', () => {
  // a peer that is never told of a subscription makes SUBSCRIBE wait
  beforeEach(() => doors.pubsub.onOpen('b'));
  afterEach(() => doors.pubsub.onClosed('b', []));

  // only the end of what it sends would let the server answer first
  test.each(['reset', 'killed'])('leaves no subscription behind: %s', async (how) => {
    const { pubsub } = doors;
    const other = await RawClient.open(doors.gateway);
    client.send('MULTI', 'SUBSCRIBE one', 'SUBSCRIBE two', 'EXEC');
    await expect.poll(() => pubsub.info().channels).toBe(1);
    if (how === 'reset') client.socket.resetAndDestroy();
    else expect(await other.ask('CLIENT KILL TYPE pubsub', ':1\r\n')).toBe(':1\r\n');
    await expect.poll(() => pubsub.info().channels, { interval: 5 }).toBe(0);
    pubsub.onClosed('b', []);
    expect(await other.ask('PUBLISH two x', ':0\r\n')).toBe(':0\r\n');
    expect(pubsub.info()).toMatchObject({ channels: 0, clients: 0 });
    other.end();
  });

  test('which one that stays makes, all of them', async () => {
    client.send('MULTI', 'SUBSCRIBE one', 'SUBSCRIBE two', 'EXEC');
    await expect.poll(() => doors.pubsub.info().channels).toBe(1);
    doors.pubsub.onClosed('b', []);
    await client.until((text) => /\$3\r\ntwo\r\n:2\r\n$/.test(text));
    expect(doors.pubsub.info().channels).toBe(2);
  });
});
