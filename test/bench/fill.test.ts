import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { fillCluster } from '../../bench/fill-clients.ts';
import { fillKey, rawBytes } from '../../bench/fill-words.ts';
import { slotPorts } from '../../bench/slot-ports.ts';
import { slotOfKey } from '../../src/common/hash.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A node that answers each request by what `reply` makes of its words. */
async function startNode(reply: (words: string[]) => string): Promise<number> {
  const server = createServer((socket) => {
    let text = '';
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      for (;;) {
        const lines = text.split('\r\n');
        const count = 1 + 2 * Number(lines[0]?.slice(1));
        if (!(lines.length > count)) return;
        const words = lines.slice(0, count).filter((_, at) => at > 0 && at % 2 === 0);
        text = lines.slice(count).join('\r\n');
        socket.write(reply(words));
      }
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const range = (first: number, last: number, port: number) =>
  `*3\r\n:${first}\r\n:${last}\r\n*2\r\n$9\r\n127.0.0.1\r\n:${port}\r\n`;

/** Two nodes with half of the slots each; `odd` answers SETs, or leaves it to them. */
async function startCluster(odd: (node: number, key: string) => string | undefined) {
  const held = [new Map<string, number>(), new Map<string, number>()];
  const ports: number[] = [];
  const node = (at: number) => (words: string[]) => {
    if (words[0] === 'CLUSTER') {
      return `*2\r\n${range(0, 8_191, ports[0]!)}${range(8_192, 16_383, ports[1]!)}`;
    }
    const [, key = '', value = ''] = words;
    const answer = odd(at, key);
    if (answer !== undefined) return answer;
    held[at]!.set(key, value.length);
    return '+OK\r\n';
  };
  for (const at of [0, 1]) ports.push(await startNode(node(at)));
  return { held, ports };
}

const told = { first: 100, count: 300, valueBytes: 50, clients: 2, pipeline: 8 };
const keys = Array.from({ length: told.count }, (_, at) => fillKey(told.first + at));

test('every key is written once, to the node that has its slot', async () => {
  let writes = 0;
  const { held, ports } = await startCluster(() => {
    writes++;
    return undefined;
  });
  expect(new Set(await slotPorts(ports[1]!))).toEqual(new Set(ports));
  await fillCluster({ ...told, port: ports[0]! });
  expect(writes).toBe(keys.length);
  for (const key of keys) {
    const at = slotOfKey(Buffer.from(key)) < 8_192 ? 0 : 1;
    expect(held[at]!.get(key), key).toBe(50);
  }
});

test('a key whose leader has moved goes where it is, and one that is refused goes again', async () => {
  let refused = 0;
  let ports: number[] = [];
  const cluster = await startCluster((node, key) => {
    if (node === 0) return `-MOVED 1 127.0.0.1:${ports[1]}\r\n`;
    return key === keys[7] && refused++ < 3 ? '-TRYAGAIN later\r\n' : undefined;
  });
  ports = cluster.ports;
  await fillCluster({ ...told, port: ports[0]! });
  expect([...cluster.held[1]!.keys()].sort()).toEqual(keys);
  expect(refused).toBe(4);
});

test('what is wrong for good ends it', async () => {
  const { ports } = await startCluster(() => '-ERR no\r\n');
  await expect(fillCluster({ ...told, port: ports[0]! })).rejects.toThrow('ERR no');
});

test('raw data is keys and values', () => {
  expect(rawBytes({ count: 10, valueBytes: 100 })).toBe(10 * 116);
});
