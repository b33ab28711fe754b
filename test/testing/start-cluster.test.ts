/** What `startCluster` refuses; what it starts is used by test/cluster/sdk.test.ts. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { birthOf, writeRunFile } from '../../src/cli/run-file.ts';
import { Supervisor } from '../../src/cli/supervisor.ts';
import { TemporaryCluster } from '../../src/cli/temporary-cluster.ts';
import { startCluster } from '../../src/testing/start-cluster.ts';

test.each([
  [{ nodes: 0 }, /nodes 0: must be a whole number from 1 to 16/],
  [{ nodes: 1.5 }, /nodes 1.5/],
  [{ nodes: 2, replicas: 3 }, /replicas 3: must be a whole number from 1 to 2/],
  [{ partitions: 5_000 }, /partitions 5000/],
  [{ node: 1 }, /there is no option node \(did you mean nodes\?\); there are nodes, partitions/],
  [{ Replicas: 1 }, /no option Replicas \(did you mean replicas\?\)/],
])('%j is refused', async (options, text) => {
  await expect(startCluster(options as object)).rejects.toThrow(text);
});

test.skipIf(birthOf(process.pid) === undefined)(
  'kill ends no process that has the id of one that has gone',
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'kvorum-kill-'));
    const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const ended = once(other, 'exit');
    const supervisor = new Supervisor([], { script: '', restart: false, say: () => {} });
    const slot = { first: 1, release: () => {} };
    const cluster = new TemporaryCluster(directory, [], supervisor, slot);
    const told = (birth: string | undefined) =>
      writeRunFile(join(directory, 'run', 'datanode1.json'), {
        ...{ name: 'datanode1', role: 'datanode', host: '127.0.0.1', ports: {} },
        ...{ pid: other.pid!, birth },
      });
    told('an earlier boot/1');
    expect(() => cluster.kill(0)).toThrow('datanode1 is not running');
    expect(() => cluster.kill(1)).toThrow('datanode2 is not running');
    told(birthOf(other.pid!));
    cluster.kill(0);
    expect(await ended).toEqual([null, 'SIGKILL']);
    expect(() => cluster.kill(0)).toThrow('datanode1 is not running');
    rmSync(directory, { recursive: true });
  },
);
