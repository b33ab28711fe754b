import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type PullGround, pullPartition } from '../../../src/cli/backup/partition-pull.ts';
import { Throttle } from '../../../src/cli/backup/throttle.ts';
import { crc32 } from '../../../src/common/checksum.ts';
import { encodeReply } from '../../../src/datanode/resp/encode-reply.ts';
import { array, bulk, error, integer, OK, type Reply } from '../../../src/datanode/resp/reply.ts';
import { crc64 } from '../../datanode/encoding/rdb/at-once.ts';

/** What a node answers, or `end`: it ends the connection. */
type Answer = (words: readonly string[]) => Reply | 'end';

let directory: string;
let servers: Server[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kvorum-pull-'));
});
afterEach(() => {
  for (const server of servers) server.close();
  servers = [];
  rmSync(directory, { recursive: true, force: true });
});

async function node(answer: Answer): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      for (const request of chunk.toString('latin1').split(/(?=\*\d+\r\n\$)/)) {
        const words = request.split('\r\n').filter((_, at) => at > 0 && at % 2 === 0);
        const reply = words[0]?.toUpperCase() === 'SELECT' ? OK : answer(words);
        if (reply === 'end') socket.destroy();
        else socket.write(encodeReply(reply, 2));
      }
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as { port: number }).port;
}

const fields = {
  id: 'n1/a',
  group: 1,
  index: 9,
  term: 2,
  'time-ms': 5_000,
  keys: 2,
  expires: 0,
  'rdb-version': 10,
};
const opened = array(
  Object.entries(fields).flatMap(([name, value]) => [
    bulk(name),
    typeof value === 'number' ? integer(value) : bulk(value),
  ]),
);
const pages = ['\0\u0001a\u00011', '\0\u0001b\u00012'].map((text) => Buffer.from(text, 'latin1'));

/** A node that gives the two pages. */
function whole([, verb, , offset]: readonly string[]): Reply {
  if (verb === 'OPEN') return opened;
  if (verb !== 'NEXT') return OK;
  const at = Number(offset) === 0 ? 0 : 1;
  const sum = crc32(Buffer.concat(pages.slice(0, at + 1)));
  return array([bulk(pages[at]!), integer(at), integer(at + 1), integer(0), integer(sum)]);
}

function ground(ports: readonly number[], more: Partial<PullGround> = {}) {
  const retries: string[] = [];
  const told = { bytes: 0 };
  const pulls: PullGround = {
    directory,
    login: {},
    throttle: new Throttle(0),
    patienceMs: 20_000,
    signal: new AbortController().signal,
    gatewaysOf: async () => ports.map((port) => ({ host: '127.0.0.1', port })),
    onBytes: (bytes) => {
      told.bytes += bytes;
    },
    onRetry: (why) => retries.push(why),
    ...more,
  };
  return { pulls, retries, told };
}

const place = {
  ...{ namespace: 'default', partition: 3, slots: [0, 10] as [number, number] },
  withLibraries: false,
};

test('pages become a file with head, end and checksum', async () => {
  const { pulls, told } = ground([await node(whole)]);
  const file = await pullPartition(pulls, place);
  const bytes = readFileSync(join(directory, 'default', '3.rdb'));
  expect(file).toMatchObject({ partition: 3, group: 1, index: 9, keys: 2, bytes: bytes.length });
  expect(bytes.toString('latin1', 0, 9)).toBe('REDIS0010');
  expect(bytes.subarray(-8)).toEqual(crc64(bytes.subarray(0, -8)));
  expect(bytes.subarray(-19, -8)).toEqual(Buffer.concat([...pages, Buffer.of(0xff)]));
  expect(told.bytes).toBe(10);
});

test('libraries of functions are asked for, and counted', async () => {
  const asked: string[] = [];
  const knowing = await node((words) => {
    asked.push(words.join(' '));
    if (words[1] !== 'OPEN' || opened.kind !== 'array') return whole(words);
    return array([...opened.items, bulk('libraries'), integer(3)]);
  });
  const { pulls } = ground([knowing]);
  const file = await pullPartition(pulls, { ...place, withLibraries: true });
  expect(file.libraries).toBe(3);
  expect(asked).toContain('KV.BACKUP OPEN 3 LIBRARIES');
  expect((await pullPartition(pulls, place)).libraries).toBeUndefined();
  expect(asked).toContain('KV.BACKUP OPEN 3');
});

test.each(['gateway', 'leader'])(
  'a %s of an older build gives out none, and this is noted',
  async (who) => {
    const refusal = error("ERR wrong number of arguments for 'kv.backup|open' command");
    const older = await node((words) =>
      who === 'gateway' && words[3] === 'LIBRARIES' ? refusal : whole(words),
    );
    const { pulls, retries } = ground([older]);
    const file = await pullPartition(pulls, { ...place, withLibraries: true });
    expect([file.libraries, retries]).toEqual([null, []]);
  },
);

test('a node that is lost in the midst is left for the next, from the beginning', async () => {
  const lost = await node((words) =>
    words[1] === 'NEXT' && words[3] !== '0' ? 'end' : whole(words),
  );
  const { pulls, retries, told } = ground([lost, await node(whole)]);
  await pullPartition(pulls, place);
  expect(retries).toHaveLength(1);
  expect(told.bytes).toBe(10);
  expect(existsSync(join(directory, 'default', '3.rdb.part'))).toBe(false);
});

test('a page that is not what the node made is not taken', async () => {
  let isFirst = true;
  const damaging = await node((words) => {
    const reply = whole(words);
    if (words[1] !== 'NEXT' || !isFirst || reply.kind !== 'array') return reply;
    isFirst = false;
    return array([bulk('\0\u0001a\u00019'), ...reply.items.slice(1)]);
  });
  const { pulls, retries } = ground([damaging]);
  await pullPartition(pulls, place);
  expect(retries).toEqual(['default/3: a page arrived damaged']);
});

test.each([
  'TRYAGAIN BUSY: 16 backups are being taken of this node: try again',
  'CLUSTERDOWN NO_LEADER: no leader known',
  'ERR NOT_FOUND: no backup n1/a is being taken here: begin it anew',
  'ERR CANCELLED: the backup has ended',
])('%s passes', async (text) => {
  let left = 1;
  const { pulls, retries } = ground([
    await node((words) => (words[1] === 'OPEN' && left-- > 0 ? error(text) : whole(words))),
  ]);
  await pullPartition(pulls, place);
  expect(retries).toEqual([`default/3: ${text}`]);
});

test.each([
  'NOPERM this user has no permissions to run the command',
  'MISCONF CORRUPT: record 10: its checksum does not match',
  'ERR NOT_FOUND: there is no partition default/3',
])('%s stays', async (text) => {
  const { pulls, retries } = ground([await node(() => error(text))]);
  await expect(pullPartition(pulls, place)).rejects.toThrow(`default/3: ${text}`);
  expect(retries).toEqual([]);
});

test('so does a wrong password, which is no lost connection', async () => {
  const wrong = error('WRONGPASS invalid username-password pair or user is disabled.');
  const port = await node((words) => (/^auth$/i.test(words[0]!) ? wrong : whole(words)));
  const { pulls, retries } = ground([port], { login: { username: 'backup', password: 'old' } });
  await expect(pullPartition(pulls, place)).rejects.toThrow('default/3: WRONGPASS invalid');
  expect(retries).toEqual([]);
});

test('patience has an end', async () => {
  const { pulls } = ground([await node(() => error('CLUSTERDOWN NO_LEADER: none'))], {
    patienceMs: 0,
  });
  await expect(pullPartition(pulls, place)).rejects.toThrow('NO_LEADER');
});

test.skipIf(!existsSync('/dev/full'))('a full disk ends it, and leaves nothing', async () => {
  mkdirSync(join(directory, 'default'));
  symlinkSync('/dev/full', join(directory, 'default', '3.rdb.part'));
  const { pulls, retries } = ground([await node(whole)]);
  await expect(pullPartition(pulls, place)).rejects.toThrow('ENOSPC');
  expect(retries).toEqual([]);
  expect(existsSync(join(directory, 'default', '3.rdb.part'))).toBe(false);
});
