import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { askPort } from './ask.ts';
import { eventually, kvorum, startCluster, type TestCluster } from './cluster.ts';
import { endedAfterEach } from './ended.ts';
import { connect } from './load.ts';

const run = promisify(execFile);
const datanodes = ['datanode1', 'datanode2', 'datanode3'];

const ended = endedAfterEach();

function restore(running: TestCluster, from: readonly string[]) {
  const config = join(running.data, 'placedriver1.yaml');
  const args = [kvorum, 'meta', 'restore', '--config', config, '--from'];
  return run(process.execPath, [...args, ...from.map((name) => join(running.data, name))]);
}

async function stable(running: TestCluster): Promise<boolean> {
  type Stats = { stable: boolean; datanodes: number };
  const stats = await askPort<Stats>(running.ports.http, '/cluster/stats');
  return stats.stable && stats.datanodes === 3;
}

async function healed(running: TestCluster): Promise<boolean> {
  const { partitions } = await running.status();
  return (
    partitions.length === 4 &&
    partitions.every(
      ({ leader, replicas }) =>
        leader !== null && replicas.length === 3 && replicas.every((r) => r.state === 'running'),
    )
  );
}

describe('the disk of the embedded store is lost', () => {
  test('kvorum meta restore makes it anew while the datanodes serve, and the cluster heals on', async () => {
    const running = ended(await startCluster({ partitions: 4, flags: ['--no-restart'] }));
    const client = connect(running.gatewayPort(0));
    await client.set('before', 'kept');
    await eventually(60_000, 'stable', () => stable(running));
    const pids = datanodes.map((name) => running.pidOf(name));
    const meta = join(running.data, 'placedriver1', 'meta');

    await expect(restore(running, datanodes)).rejects.toThrow(/placedriver1 is in use by process/);
    await running.killAndWait('placedriver1');
    await expect(restore(running, datanodes)).rejects.toThrow(/holds a metadata store already/);
    rmSync(meta, { recursive: true });
    await client.set('meanwhile', 'kept too');
    await expect(restore(running, ['placedriver1'])).rejects.toThrow(/holds no file `table`/);
    const { stdout } = await restore(running, datanodes);
    expect(stdout).toContain('the datanodes go on with it by themselves');
    running.startByHand('placedriver1');
    await eventually(90_000, 'stable on the restored store', () => stable(running));
    expect(datanodes.map((name) => running.pidOf(name))).toEqual(pids);
    expect(await client.mget('before', 'meanwhile')).toEqual(['kept', 'kept too']);

    // The master works with it: a node that lost its disk is filled, under ids never used before.
    await running.killAndWait('datanode3');
    rmSync(join(running.data, 'datanode3'), { recursive: true });
    running.startByHand('datanode3');
    await eventually(60_000, 'the emptied node is filled', () => healed(running));
    expect(await client.mget('before', 'meanwhile')).toEqual(['kept', 'kept too']);
    client.disconnect();
  }, 400_000);
});
