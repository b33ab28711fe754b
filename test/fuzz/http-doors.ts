/** Both HTTP doors over a cluster of records in memory, with a real master behind the API. */
import type { FastifyInstance } from 'fastify';
import { systemClock } from '../../src/common/clock.ts';
import { silentLogger } from '../../src/common/log.ts';
import { seededRandom } from '../../src/common/random.ts';
import { createApp, type NodeStatus } from '../../src/datanode/http/server.ts';
import { keys } from '../../src/meta/schema.ts';
import { PlacedriverCoordinator } from '../../src/placedriver/coordinator.ts';
import { ApiUnderTest } from '../placedriver/http/api.ts';
import type { HttpRequest } from './http-requests.ts';

export interface HttpAnswer {
  readonly code: number;
  readonly type: string;
  readonly text: string;
}

/** A master's time is its own: nothing of it holds the process. */
const LEASE_MS = 60_000;

export class HttpDoors {
  readonly api = new ApiUnderTest();
  readonly #coordinator: PlacedriverCoordinator;
  readonly datanode: FastifyInstance;

  private constructor() {
    this.#coordinator = new PlacedriverCoordinator({
      store: this.api.meta.connect(),
      clock: systemClock,
      random: seededRandom('http doors'),
      logger: silentLogger,
      name: 'pd1',
      leaseTtlMs: LEASE_MS,
      default: { nodes: 1_000, partitions: 2, replicas: 1 },
    });
    this.datanode = createApp({
      status: () => nodeStatus,
      readiness: () => ({ ready: true, reasons: [] }),
      metrics: { contentType: 'text/plain', text: () => Promise.resolve('a 1\n') },
    });
  }

  static async open(): Promise<HttpDoors> {
    const doors = new HttpDoors();
    const { api } = doors;
    await api.start();
    await api.fill();
    const pd = { version: 1, name: 'pd1', host: 'h', httpPort: 1, build: '9' };
    await api.put(keys.placedriver('pd1'), pd);
    doors.#coordinator.start();
    while (doors.#coordinator.operator === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    api.operator = doors.#coordinator.operator;
    await api.seen();
    return doors;
  }

  async send(request: HttpRequest): Promise<HttpAnswer> {
    const { door, method, url, type, body } = request;
    const app = door === 'datanode' ? this.datanode : this.api.app;
    const { statusCode, headers, payload } = await app.inject({
      method: method as 'GET',
      url,
      headers: { host: 'a', ...(type !== undefined && { 'content-type': type }) },
      ...(body !== undefined && { payload: body }),
    });
    return { code: statusCode, type: String(headers['content-type'] ?? ''), text: payload };
  }

  async close(): Promise<void> {
    await this.#coordinator.stop();
    await this.api.stop();
    await this.datanode.close();
  }
}

const replica: NodeStatus['partitions'][number] = {
  ...{ namespace: 'default', partition: 3, group: 7, node: 'n1', replica: 21 },
  ...{ role: 'leader', leader: 'n1', term: 4, commit: 90, applied: 90, lastIndex: 91 },
  ...{ state: 'running', asleep: false, reads: 'linearizable' },
  members: [{ node: 'n1', id: 21, match: 91 }],
};

const nodeStatus: NodeStatus = {
  ...{ node: 'n1', incarnation: 'i', version: '9', ready: true, faults: {} },
  partitions: [replica, { ...replica, namespace: 'a-b', partition: 0, role: 'follower' }],
};
