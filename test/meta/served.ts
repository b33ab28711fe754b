/** Adapters of the suites to a store that is served at a URL: a real etcd, or the embedded one. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { systemClock } from '../../src/common/clock.ts';
import { silentLogger } from '../../src/common/log.ts';
import { systemRandom } from '../../src/common/random.ts';
import { connectEtcd } from '../../src/meta/etcd.ts';
import type { BreakableStore } from '../conformance/meta-links.ts';
import { Link } from './link.ts';

const run = promisify(execFile);
const fail = (failure: Error) => {
  throw failure;
};
export const world = {
  clock: systemClock,
  random: systemRandom(),
  logger: silentLogger,
  onFailure: fail,
  fatal: fail,
};

export interface ServedStore {
  readonly url: string;
  close(): Promise<void>;
}

export async function etcdctl(url: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, ETCDCTL_API: '3' };
  const { stdout } = await run('etcdctl', ['--endpoints', url, ...args], { env, timeout: 30_000 });
  return stdout;
}

export async function breakable(served: ServedStore): Promise<BreakableStore> {
  const link = await Link.open(Number(new URL(served.url).port));
  const direct = connectEtcd({ ...world, urls: [served.url] });
  const linked = connectEtcd({ ...world, urls: [`http://127.0.0.1:${link.port}`] });
  return {
    linked,
    direct,
    cut: () => link.cut(),
    mend: () => link.mend(),
    snap: () => link.snap(),
    history: {
      async compact(revision) {
        await etcdctl(served.url, 'compact', String(revision));
      },
      snapAfter: (bytes, then) => link.snapAfter(bytes, then),
    },
    async close() {
      await linked.close();
      await direct.close();
      await link.close();
      await served.close();
    },
  };
}
