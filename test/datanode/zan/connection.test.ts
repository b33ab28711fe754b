import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { murmur3 } from '../../../src/common/murmur3.ts';
import { decodeReply } from '../../../src/datanode/resp/decode-reply.ts';
import { encodeReply } from '../../../src/datanode/resp/encode-reply.ts';
import type { Reply } from '../../../src/datanode/resp/reply.ts';
import { ZanConnection } from '../../../src/datanode/zan/connection.ts';
import { type Doors, openDoors, RawClient, wire } from '../server/doors.ts';

const PARTITIONS = 4;
let doors: Doors;
let port: number;
let client: RawClient;
const clients: RawClient[] = [];

async function connect(): Promise<RawClient> {
  const one = await RawClient.open(port);
  clients.push(one);
  return one;
}

async function open(settings: Parameters<typeof openDoors>[1] = {}): Promise<void> {
  doors = await openDoors(PARTITIONS, settings, 'murmur3');
  const here = { host: '127.0.0.1', port: 0 };
  port = await doors.server.listen('zan', here, (...given) => new ZanConnection(...given));
  client = await connect();
}

async function close(): Promise<void> {
  for (const one of clients.splice(0)) one.end();
  await doors.close();
}

/** For what is refused once it was held: on a busy machine nothing else is to wait no longer. */
async function holdBriefly(): Promise<void> {
  await close();
  await open({ holdMs: 200 });
}

beforeEach(() => open());
afterEach(close);

const partitionOf = (key: string) => murmur3(Buffer.from(key)) % PARTITIONS;
const leader = (key: string) => doors.partitions[partitionOf(key)]!;

/** Keys of table t in each partition, as many as asked for. */
function keysOf(partition: number, count: number): string[] {
  const found: string[] = [];
  for (let at = 0; found.length < count; at++) {
    if (partitionOf(`t:k${at}`) === partition) found.push(`k${at}`);
  }
  return found;
}

/** The reply to one request, by the bytes of RESP2. */
async function call(line: string, from = client): Promise<Reply> {
  const before = from.text.length;
  from.send(line);
  let reply: Reply | undefined;
  await from.until((text) => {
    try {
      reply = decodeReply(Buffer.from(text.slice(before), 'latin1'));
      return true;
    } catch {
      return false;
    }
  });
  return reply!;
}

async function said(line: string, from = client): Promise<string> {
  const reply = await call(line, from);
  return encodeReply(reply, 2).toString('latin1').trim();
}

describe('commands', () => {
  test('are those of the keys without their namespace, in order', async () => {
    expect(await said('set default:t:a 1')).toBe('+OK');
    expect(await said('get default:t:a')).toBe('$1\r\n1');
    expect(await said('incr default:t:a')).toBe(':2');
    expect(await said('hset default:t:h f v')).toBe(':1');
    expect(await said('hexpire default:t:h 100')).toBe(':1');
    expect(await said('httl default:t:h')).toBe(':100');
    expect(await said('hkeyexist default:t:h')).toBe(':1');
    expect(await said('ttl default:t:h'), 'of another type').toBe(':-1');
    expect(await said('del default:t:h'), 'of another type').toBe(':0');
    expect(await said('set default:t:h x')).toMatch(/^-WRONGTYPE /);
    expect(await said('hclear default:t:h')).toBe(':1');
    const stored = leader('t:a').batches.flatMap(({ lines }) => lines);
    expect(stored.every(([, key]) => !key!.toString().startsWith('default'))).toBe(true);
  });

  test('of one connection are answered in its order, whatever partitions they are for', async () => {
    const keys = Array.from({ length: 60 }, (_, at) => `k${at}`);
    const open = doors.partitions[1]!.shut();
    client.send(...keys.flatMap((key) => [`set default:t:${key} ${key}`, `get default:t:${key}`]));
    await doors.partitions[0]!.gate;
    open();
    const expected = keys.map((key) => `+OK\r\n$${key.length}\r\n${key}\r\n`).join('');
    expect(await client.until((text) => text.length >= expected.length)).toBe(expected);
  });

  test('with keys of several partitions that are led here are merged', async () => {
    const keys = [0, 1, 2, 3].flatMap((partition) => keysOf(partition, 2));
    const all = keys.map((key) => `default:t:${key}`);
    expect(await said(`plset ${all.map((key, at) => `${key} v${at}`).join(' ')}`)).toBe('+OK');
    const got = await call(`mget ${all.join(' ')} default:t:none`);
    expect(encodeReply(got, 2).toString()).toBe(
      `*9\r\n${keys.map((_, at) => `$2\r\nv${at}\r\n`).join('')}$-1\r\n`,
    );
    expect(await said(`exists ${all.join(' ')} default:t:none`)).toBe(':8');
    expect(await said(`del ${all.slice(0, 5).join(' ')}`)).toBe(':5');
    expect(await said(`exists ${all.join(' ')}`)).toBe(':3');
    const [a, b] = [keysOf(0, 1)[0], keysOf(1, 1)[0]];
    expect(await said(`sinter default:t:${a} default:t:${b}`)).toMatch(/^-invalid arguments/);
  });

  test('of the node and of nobody', async () => {
    expect(await said('PING')).toBe('+PONG');
    expect(await said('info server')).toContain('tcp_port');
    expect(await said('nosuch default:t:a')).toMatch(/^-invalid command : ERR handle command/);
    expect(await said('get k')).toBe('-invalid redis key : ERR handle command get, k');
    expect(await said('quit')).toBe('+OK');
    await client.until(() => client.closed);
  });
});

describe('where a command cannot be taken', () => {
  const changed = async (line: string) => {
    const [, text] =
      /^-ERR_CLUSTER_CHANGED: (.*?) : ERR handle command /.exec(await said(line)) ?? [];
    return text;
  };
  const key = keysOf(2, 1)[0]!;

  test('the namespace is not found, or deals its keys out otherwise', async () => {
    expect(await changed('get other:t:a')).toBe('namespace is not found');
    expect(await changed('scan other:t:')).toBe('namespace is not found');
    const slots = await openDoors(1);
    const here = { host: '127.0.0.1', port: 0 };
    const other = await slots.server.listen('zan', here, (...given) => new ZanConnection(...given));
    const asked = await RawClient.open(other);
    clients.push(asked);
    expect(await said('get default:t:a', asked)).toMatch(/^-ERR the namespace deals its keys out/);
    await slots.close();
  });

  test('the node has no replica of the partition', async () => {
    const records = doors.routes.partitions('default')!;
    const elsewhere = [{ replica: 9, node: 'b', incarnation: 'b-1' }];
    leader(`t:${key}`).isLeader = false;
    doors.routes.setPartitions(
      records.map((one) => (one.partition === 2 ? { ...one, replicas: elsewhere } : one)),
    );
    expect(await changed(`get default:t:${key}`)).toBe('partition of the namespace is not found');
  });

  test('another node leads, or nobody does, and then this one again', async () => {
    await holdBriefly();
    const partition = leader(`t:${key}`);
    partition.isLeader = false;
    expect(await changed(`get default:t:${key}`)).toBe('partition of the node has no leader');
    expect(await changed(`set default:t:${key} 1`)).toBe('partition of the node has no leader');
    doors.routes.setLeader(3, 'b', 7);
    const elsewhere = 'partition of the namespace is not leader on the node';
    expect(await changed(`get default:t:${key}`)).toBe(elsewhere);
    expect(await changed(`set default:t:${key} 1`)).toBe(elsewhere);
    partition.isLeader = true;
    expect(await said(`set default:t:${key} 1`)).toBe('+OK');
    expect(partition.batches.map(({ kind }) => kind)).toEqual(['write']);
  });

  test('nothing of a command over several partitions is done when one is led elsewhere', async () => {
    const [here, away] = [keysOf(0, 1)[0], key];
    await said(`set default:t:${here} 1`);
    leader(`t:${away}`).isLeader = false;
    doors.routes.setLeader(3, 'b', 7);
    const line = `del default:t:${here} default:t:${away}`;
    expect(await changed(line)).toBe('partition of the namespace is not leader on the node');
    expect(await said(`get default:t:${here}`)).toBe('$1\r\n1');
  });

  describe('several partitions of which one is led elsewhere by the time of its turn', () => {
    const here = keysOf(0, 1)[0]!;
    const keys = `default:t:${here} default:t:${key}`;

    /** The first of them has done its part, if it takes any, when the second has lost its lead. */
    async function meanwhile(line: string): Promise<string> {
      await said(`plset default:t:${here} 1 default:t:${key} 1`);
      const [first, second] = [leader(`t:${here}`), leader(`t:${key}`)];
      const [before, others] = [first.batches.length, second.batches.length];
      const open = second.shut();
      client.send(`incr default:t:${key}`);
      await expect.poll(() => second.batches.length).toBe(others + 1);
      const from = client.text.length;
      client.send(line);
      await expect.poll(() => first.batches.length).toBe(before + 1);
      second.isLeader = false;
      doors.routes.setLeader(3, 'b', 7);
      open();
      await client.until((text) => (text.slice(from).match(/\r\n/g) ?? []).length === 2);
      const [incremented, answer] = client.text.slice(from).split('\r\n');
      expect(incremented).toBe(':2');
      return answer!;
    }

    test('a write of which a part is done ends, and is not worth another try', async () => {
      const text = await meanwhile(`del ${keys}`);
      expect(text).toMatch(/^-context deadline exceeded: PARTIALOUTCOME /);
      expect(text).toContain(`done for 't:${here}'; not done for 't:${key}'; unknown for none`);
      expect(text).toMatch(/ : ERR handle command del, default:t:/);
      expect(await said(`get default:t:${here}`)).toBe('$-1');
    });

    test('a write of which no part is done may be sent again', async () => {
      await holdBriefly();
      const faults = Array.from({ length: 60 }, () => ({ after: 0, code: 'BUSY' as const }));
      leader(`t:${here}`).faults.push(...faults);
      leader(`t:${key}`).faults.push(...faults);
      expect(await changed(`del ${keys}`)).toMatch(/^raft group not ready: CLUSTERDOWN /);
    });

    test('a read may be sent again', async () => {
      const text = await meanwhile(`exists ${keys}`);
      expect(text).toMatch(/^-ERR_CLUSTER_CHANGED: partition of the namespace is not leader/);
    });
  });

  test('what was not proposed is tried again for a while, then refused for another try', async () => {
    await holdBriefly();
    const partition = leader(`t:${key}`);
    partition.faults.push({ after: 0, code: 'BUSY' });
    expect(await said(`set default:t:${key} 1`)).toBe('+OK');
    partition.faults.push(
      ...Array.from({ length: 60 }, () => ({ after: 0, code: 'BUSY' as const })),
    );
    expect(await changed(`set default:t:${key} 2`)).toMatch(/^raft group not ready: CLUSTERDOWN /);
    expect(await said(`get default:t:${key}`)).toBeDefined();
  });

  test('what may have happened is never said to be worth another try', async () => {
    leader(`t:${key}`).faults.push({ after: 0, code: 'OUTCOME_UNKNOWN' });
    const text = await said(`incr default:t:${key}`);
    expect(text).toMatch(/^-context deadline exceeded: UNKNOWNOUTCOME /);
    expect(text).not.toContain('ERR_CLUSTER_CHANGED');
  });

  test('a node that stops answers what is under way, and begins nothing more', async () => {
    const open = leader(`t:${key}`).shut();
    client.send(`set default:t:${key} 1`);
    while (leader(`t:${key}`).batches.length === 0) await new Promise((r) => setTimeout(r, 5));
    const closed = doors.close();
    client.send(`get default:t:${key}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    open();
    await client.until(() => client.closed);
    expect(client.text).toBe(
      `+OK\r\n-the node stopped : ERR handle command get, default:t:${key}\r\n`,
    );
    await closed;
  });
});

describe('scans', () => {
  const strings = (reply: Reply): [cursor: string, items: string[]] => {
    if (reply.kind !== 'array') throw new Error(JSON.stringify(reply));
    const [cursor, items] = reply.items;
    if (cursor?.kind !== 'bulk' || items?.kind !== 'array') throw new Error(JSON.stringify(reply));
    const texts = items.items.map((item) => (item.kind === 'bulk' ? item.bytes.toString() : ''));
    return [cursor.bytes.toString(), texts];
  };

  async function scan(command: string, options: string): Promise<string[][]> {
    const pages: string[][] = [];
    let cursor = '';
    do {
      const page = strings(await call(`${command} default:t:${cursor} ${options}`));
      pages.push(page[1]);
      cursor = page[0];
    } while (cursor !== '');
    return pages;
  }

  const names = Array.from({ length: 90 }, (_, at) => `k${at}`);
  const fill = async () => {
    for (const name of names) expect(await said(`set default:t:${name} v`)).toBe('+OK');
  };

  test('give each key of the table once, page by page', async () => {
    await fill();
    const pages = await scan('scan', 'KV count 20');
    expect(pages.map((page) => page.length)).toEqual([20, 20, 20, 20, 10]);
    expect(pages.flat().sort()).toEqual([...names].sort());
    const back = await scan('advrevscan', 'kv count 7');
    expect(back.flat().sort()).toEqual([...names].sort());
    expect(await scan('advscan', 'HASH')).toEqual([[]]);
    const full = await call('fullscan default:t: KV count 500');
    expect(
      full.kind === 'array' && full.items[1]?.kind === 'array' && full.items[1].items.length,
    ).toBe(90);
  });

  test('begin with what is led here, and go on wherever that is led then', async () => {
    await fill();
    const [cursor, first] = strings(await call('scan default:t: count 10'));
    doors.partitions[3]!.isLeader = false;
    doors.routes.setLeader(4, 'b', 7);
    const here = (await scan('scan', 'count 50')).flat();
    expect(here.every((name) => partitionOf(`t:${name}`) !== 3)).toBe(true);
    expect(Buffer.from(cursor, 'base64').toString()).toContain(';3:;');
    doors.partitions[3]!.isLeader = true;
    const [, rest] = strings(await call(`scan default:t:${cursor} count 500`));
    expect([...first, ...rest].sort()).toEqual([...names].sort());
  });

  test('do not begin while nobody is known to lead a partition with a replica here', async () => {
    await fill();
    doors.partitions[3]!.isLeader = false;
    expect(await said('scan default:t: count 500')).toMatch(
      /^-ERR_CLUSTER_CHANGED: partition of the node has no leader : ERR handle command scan/,
    );
    expect(
      doors.partitions.flatMap(({ batches }) => batches).some(({ kind }) => kind === 'read'),
    ).toBe(false);
    doors.routes.setLeader(4, 'b', 7);
    expect((await scan('scan', 'count 500')).flat().length).toBeGreaterThan(0);
  });

  test('refuse a cursor of more places than there are partitions, or of one of them twice', async () => {
    for (const places of ['0:;1:;2:;3:;4:;', '1:;1:;']) {
      const cursor = Buffer.from(places).toString('base64');
      expect(await said(`scan default:t:${cursor}`)).toMatch(/^-invalid scan cursor/);
    }
  });

  test('refuse a cursor that is none, and partitions that are not there', async () => {
    expect(await said('scan default:t:xyz')).toMatch(/^-invalid scan cursor/);
    const nowhere = Buffer.from('9:;').toString('base64');
    expect(await said(`scan default:t:${nowhere}`)).toMatch(
      /^-ERR_CLUSTER_CHANGED: partition of the namespace is not found/,
    );
  });
});

describe('users', () => {
  test('any password is taken where none is asked for, and only the right one elsewhere', async () => {
    expect(await said('auth whatever')).toBe('+OK');
    const gateway = await RawClient.open(doors.gateway);
    clients.push(gateway);
    await said('ACL SETUSER bob on >secret ~t:b* +@read', gateway);
    await said('ACL SETUSER default resetpass >x', gateway);
    const fresh = await connect();
    for (const line of ['get default:t:b1', 'client list', 'info', 'advscan default:t: KV']) {
      expect(await said(line, fresh)).toMatch(/^-NOAUTH/);
    }
    expect(await said('auth wrong', fresh)).toMatch(/^-WRONGPASS/);
    expect(await said('auth bob secret', fresh)).toBe('+OK');
    expect(await said('get default:t:b1', fresh)).toBe('$-1');
    expect(await said('get default:t:a', fresh)).toMatch(/^-NOPERM/);
    expect(await said('set default:t:b1 x', fresh)).toMatch(/^-NOPERM/);
    expect(await said('client list', fresh)).toMatch(/^-NOPERM/);
  });
});

test('CLIENT PAUSE holds back what comes, in order', async () => {
  const gateway = await RawClient.open(doors.gateway);
  clients.push(gateway);
  expect(await said('CLIENT PAUSE 60000 WRITE', gateway)).toBe('+OK');
  client.socket.write(
    wire('get default:t:a') + wire('set default:t:a 1') + wire('get default:t:a'),
  );
  await client.until((text) => text === '$-1\r\n');
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(client.text).toBe('$-1\r\n');
  expect(await said('CLIENT UNPAUSE', gateway)).toBe('+OK');
  await client.until((text) => text === '$-1\r\n+OK\r\n$1\r\n1\r\n');
});

test('CLIENT REPLY is answered only when it is ON, and SKIP leaves out one reply', async () => {
  client.socket.write(wire('client reply skip') + wire('echo a') + wire('echo b') + wire('echo c'));
  expect(await client.until((text) => text.endsWith('c\r\n'))).toBe('$1\r\nb\r\n$1\r\nc\r\n');
  const before = client.text.length;
  client.socket.write(wire('client reply off') + wire('echo d') + wire('client reply on'));
  const text = await client.until((so) => so.endsWith('+OK\r\n'));
  expect(text.slice(before)).toBe('+OK\r\n');
});

describe('what CLIENT PAUSE holds back', () => {
  beforeEach(async () => {
    const gateway = await RawClient.open(doors.gateway);
    clients.push(gateway);
    expect(await said('CLIENT PAUSE 60000 WRITE', gateway)).toBe('+OK');
    client.socket.write(wire('set default:t:a 1'));
    await client.until(() => doors.server.info().blockedClients === 1);
  });

  test('keeps no node from stopping: the pause ends first, and it is done', async () => {
    await doors.close();
    await client.until(() => client.closed);
    expect(client.text).toBe('+OK\r\n');
  });

  test('is not done for a client that has ended meanwhile', async () => {
    client.socket.end();
    await client.until(() => client.closed);
    const other = await connect();
    expect(await said('CLIENT UNPAUSE', clients[1])).toBe('+OK');
    expect(await said('get default:t:a', other)).toBe('$-1');
  });
});

test.each([
  ['pw', '+OK\r\n'],
  ['wrong', '-WRONGPASS'],
])('what is large waits behind an AUTH %s that is held back', async (password, answer) => {
  const gateway = await RawClient.open(doors.gateway);
  clients.push(gateway);
  expect(await said('CONFIG SET requirepass pw', gateway)).toBe('+OK');
  expect(await said('CLIENT PAUSE 60000 ALL', gateway)).toBe('+OK');
  const fresh = await connect();
  const words = Array.from({ length: 10 }, () => 'default:t:a').join(' ');
  fresh.send(`AUTH ${password}`, `MGET ${words}`);
  const held = () => doors.server.info().blockedClients === 1;
  await fresh.until(held);
  expect(await said('CLIENT UNPAUSE', gateway)).toBe('+OK');
  const text = await fresh.until((so) => fresh.closed || so.endsWith('$-1\r\n'.repeat(10)));
  expect(text.startsWith(answer)).toBe(true);
  expect(text.includes('unauthenticated multibulk length')).toBe(password === 'wrong');
});

test('who is killed is no client any more for what comes behind the KILL', async () => {
  const gateway = await RawClient.open(doors.gateway);
  clients.push(gateway);
  expect(await said('get default:t:a')).toBe('$-1');
  const kill = wire('CLIENT KILL TYPE normal SKIPME yes');
  gateway.socket.write(kill + kill);
  expect(await gateway.until((text) => text.length === 8)).toBe(':1\r\n:0\r\n');
  await client.until(() => client.closed);
});
