import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { underLeases } from '../../bench/lease-reads.ts';
import type { ReplicaStatus } from '../../tools/settled.ts';

/** A placedriver that takes what it is told, and datanodes that hear of it at their second look. */
async function clusterThat(status: number) {
  const told: string[] = [];
  let reads = 'linearizable';
  let looks = 0;
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    told.push(`${request.method} ${request.url} ${body}`);
    looks = 0;
    ({ reads } = JSON.parse(body) as { reads: string });
    response.writeHead(status).end('what it says');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const heard = () => ({ reads: looks > 1 ? reads : 'not heard' }) as ReplicaStatus;
  const datanodes = {
    names: ['datanode1'],
    status: async () => [heard()],
    until: async (_ms: number, _what: string, holds: () => Promise<boolean>) => {
      do looks++;
      while (!(await holds()));
    },
  };
  const { port: httpPort } = server.address() as AddressInfo;
  return { told, heard, cluster: { httpPort, check: () => {}, datanodes } };
}

test('work begins when all have heard of leases, and rounds come back after it', async () => {
  const { told, heard, cluster } = await clusterThat(200);
  await underLeases(cluster, async () => {
    expect(heard().reads).toBe('lease');
  });
  expect(told).toEqual(
    ['lease', 'linearizable'].map((reads) => `PATCH /v1/namespaces/default {"reads":"${reads}"}`),
  );
  expect(heard().reads).toBe('linearizable');
});

test('a placedriver that refuses is heard, and nothing is measured', async () => {
  const { cluster } = await clusterThat(503);
  let isMeasured = false;
  const measured = underLeases(cluster, async () => {
    isMeasured = true;
  });
  await expect(measured).rejects.toThrow(/PATCH .*default: 503 what it says/);
  expect(isMeasured).toBe(false);
});
