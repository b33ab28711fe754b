/** Counts the snapshot streams that pass a node's transport; nothing else is streamed. */
import type { PartitionMeters } from './partition/host/meters.ts';
import type { Transport } from './transport/transport.ts';

/** The transport, counting what is streamed through it. */
export function countStreams(transport: Transport, meters: PartitionMeters): Transport {
  return {
    setPeers: (peers) => transport.setPeers(peers),
    send: (to, group, message) => transport.send(to, group, message),
    request: (to, body, timeoutMs, signal) => transport.request(to, body, timeoutMs, signal),
    stream: (to, header, chunks) =>
      counted(transport.stream(to, header, chunks), meters, () => meters.snapshotsSent++),
    post: (to, body) => transport.post(to, body),
    isReachable: (node) => transport.isReachable(node),
    peerWallMs: (node) => transport.peerWallMs(node),
    port: transport.port,
    close: () => transport.close(),
  };
}

/** A stream that a peer opened, counted when it has been taken in or has broken. */
export function receiveStream(meters: PartitionMeters, taken: Promise<void>): Promise<void> {
  return counted(taken, meters, () => meters.snapshotsReceived++);
}

async function counted(
  stream: Promise<void>,
  meters: PartitionMeters,
  done: () => void,
): Promise<void> {
  try {
    await stream;
    done();
  } catch (failure) {
    meters.snapshotsFailed++;
    throw failure;
  }
}
