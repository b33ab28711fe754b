/** A watch over a link that breaks: it goes on where it was, or lists anew once that is compacted. */
import { execFile } from 'node:child_process';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { silentLogger } from '../../src/common/log.ts';
import { systemRandom } from '../../src/common/random.ts';
import { connectEtcd } from '../../src/meta/etcd.ts';

const world = { clock: systemClock, random: systemRandom(), logger: silentLogger };
const run = promisify(execFile);

export interface ServedStore {
  readonly url: string;
  close(): Promise<void>;
}

export function brokenLinkSuite(open: () => Promise<ServedStore>): void {
  test('changes made while the link was cut are told after it, each once', async () => {
    const it = await setUp(open);
    await it.link.cut();
    for (let at = 0; at < 20; at++) await it.direct.put(`/w/${at % 4}`, String(at));
    it.link.mend();
    await expect.poll(() => it.told.at(-1)).toBe('19');
    expect(it.told).toEqual(Array.from({ length: 20 }, (_, at) => String(at)));
    expect(it.lists()).toBe(1);
    await it.close();
  });

  test('when they have been compacted meanwhile, the watch lists anew', async () => {
    const it = await setUp(open);
    await it.direct.put('/w/old', 'x');
    await expect.poll(() => it.state.get('/w/old')).toBe('x');
    await it.link.cut();
    for (let at = 0; at < 20; at++) await it.direct.put(`/w/${at % 4}`, String(at));
    const revision = await it.direct.delete('/w/old');
    const env = { ...process.env, ETCDCTL_API: '3' };
    await run('etcdctl', ['--endpoints', it.url, 'compact', String(revision)], { env });
    it.link.mend();
    await expect.poll(() => it.lists()).toBe(2);
    await it.direct.put('/w/after', 'y');
    await expect.poll(() => it.state.get('/w/after')).toBe('y');
    expect([...it.state].sort()).toEqual([
      ['/w/0', '16'],
      ['/w/1', '17'],
      ['/w/2', '18'],
      ['/w/3', '19'],
      ['/w/after', 'y'],
    ]);
    await it.close();
  });
}

async function setUp(open: () => Promise<ServedStore>) {
  const served = await open();
  const link = await Link.open(Number(new URL(served.url).port));
  const direct = connectEtcd({ ...world, urls: [served.url] });
  const linked = connectEtcd({ ...world, urls: [`http://127.0.0.1:${link.port}`] });
  const state = new Map<string, string>();
  const told: string[] = [];
  let lists = 0;
  linked.watch('/w/', {
    onList(items) {
      lists++;
      state.clear();
      for (const { key, value } of items) state.set(key, value);
    },
    onEvents(events) {
      for (const event of events) {
        if (event.type === 'put') {
          told.push(event.item.value);
          state.set(event.item.key, event.item.value);
        } else state.delete(event.key);
      }
    },
  });
  await expect.poll(() => lists).toBe(1);
  return {
    url: served.url,
    link,
    direct,
    state,
    told,
    lists: () => lists,
    async close() {
      await linked.close();
      await direct.close();
      await link.close();
      await served.close();
    },
  };
}

/** A TCP link that can be cut: its connections break and new ones are refused. */
class Link {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;
  #whole = true;

  private constructor(server: Server, port: number, sockets: Set<Socket>) {
    this.#server = server;
    this.port = port;
    this.#sockets = sockets;
  }

  static async open(target: number): Promise<Link> {
    const sockets = new Set<Socket>();
    let link: Link | undefined;
    const server = createServer((near) => {
      if (link === undefined || !link.#whole) {
        near.destroy();
        return;
      }
      const far = connect({ port: target, host: '127.0.0.1' });
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(one);
        one.on('error', () => {});
        one.on('close', () => other.destroy());
        one.pipe(other);
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    link = new Link(server, port, sockets);
    return link;
  }

  async cut(): Promise<void> {
    this.#whole = false;
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }

  mend(): void {
    this.#whole = true;
  }

  async close(): Promise<void> {
    await this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
