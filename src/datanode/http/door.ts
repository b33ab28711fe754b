/**
 * The HTTP door over the life of its process: open before the node has its place in the cluster,
 * which it may have to wait for, and until it has stopped. Who asks is told so, not refused.
 */
import type { Clock } from '../../common/clock.ts';
import type { Readiness } from '../../common/http/probe-routes.ts';
import type { HttpTls } from '../../common/http/secure-door.ts';
import { LoopMeter } from '../../common/loop-meter.ts';
import type { Address } from '../../common/network.ts';
import type { ServerInfo } from '../commands/rows/node-context.ts';
import { createMetricsPage, type NodeMetrics } from './metrics.ts';
import { type NodeStatus, startHttp } from './server.ts';

/** What the door asks of a datanode. */
export interface ObservedNode {
  status(): NodeStatus;
  readiness(): Readiness;
  info(): ServerInfo;
  keyCounts(): NodeMetrics['keyCounts'];
  cluster(): NodeMetrics['cluster'];
  clientTls?(): NodeMetrics['clientTls'];
}

export interface HttpDoor {
  readonly port: number;
  /** From now on `node` answers. */
  serve(node: ObservedNode): void;
  /** From now on the node is not ready, whatever it says. */
  stopping(): void;
  close(): Promise<void>;
}

export interface DoorWorld {
  readonly clock: Clock;
  /** See `NodeMetrics`. */
  peersRefused(): number;
  readonly tls?: HttpTls | undefined;
  /** Of the files of TLS; undefined where there are none. */
  tlsDaysLeft?(): NodeMetrics['tlsDaysLeft'];
}

/** Rejects when the address is taken. */
export async function openHttpDoor(
  address: Address,
  { clock, peersRefused, tls, tlsDaysLeft }: DoorWorld,
): Promise<HttpDoor> {
  let node: ObservedNode | undefined;
  let stopping = false;
  const loop = new LoopMeter(clock);
  const readiness = (): Readiness => {
    if (stopping) return { ready: false, reasons: ['this datanode is stopping'] };
    return node?.readiness() ?? { ready: false, reasons: ['waiting to join a cluster'] };
  };
  const metrics = createMetricsPage(
    () =>
      node && {
        nowMs: clock.wallMs(),
        info: node.info(),
        keyCounts: node.keyCounts(),
        cluster: node.cluster(),
        clientTls: node.clientTls?.(),
        tlsDaysLeft: tlsDaysLeft?.(),
        ready: readiness().ready,
        faults: Object.keys(node.status().faults).length,
        loopDelay: loop.delay,
        peersRefused: peersRefused(),
      },
    { process: true },
  );
  const sources = { readiness, metrics, status: () => node?.status() };
  const http = await startHttp(address, sources, tls);
  loop.start();
  return {
    port: http.port,
    serve(serving) {
      node = serving;
    },
    stopping() {
      stopping = true;
    },
    close() {
      loop.stop();
      return http.close();
    },
  };
}
