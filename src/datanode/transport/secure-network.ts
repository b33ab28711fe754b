/**
 * The Network of a transport under TLS. A running cluster goes over node by node: with `accept` it takes
 * plain and TLS and dials plain, with `dial` it dials TLS, and with `required` it takes nothing else.
 */
import type { Clock } from '../../common/clock.ts';
import type { Logger } from '../../common/log.ts';
import type { Network } from '../../common/network.ts';
import { mutualNetwork, type PeerCredentials } from '../../common/tls/mutual-network.ts';
import { FrameWriter } from './frame.ts';
import { encodeRefusal } from './handshake.ts';

export type NodesMode = 'accept' | 'dial' | 'required';

/** Who knocks and is no peer may do so all the time. */
const TOLD_AGAIN_MS = 60_000;
const REASONS_MAX = 256;

export interface SecureNetworkOptions {
  readonly mode: NodesMode;
  /** Those of now. */
  credentials(): PeerCredentials;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Somebody was not let in. */
  onRefused?(): void;
}

/** Every node's tls.nodes has to be `accept` or more before one dials, and `dial` before one requires. */
export function secureNetwork(options: SecureNetworkOptions): Network {
  const { mode, clock, logger } = options;
  const told = new Map<string, number>();
  const tell = (remote: string, reason: string) => {
    const nowMs = clock.monotonicMs();
    const key = `${remote.slice(0, remote.lastIndexOf(':'))} ${reason}`;
    if (nowMs - (told.get(key) ?? Number.NEGATIVE_INFINITY) < TOLD_AGAIN_MS) return;
    if (told.size >= REASONS_MAX) told.clear();
    told.set(key, nowMs);
    logger.warn('a connection from a peer is refused', { remote, reason });
  };
  return mutualNetwork({
    credentials: () => options.credentials(),
    takesPlain: mode !== 'required',
    dialsTls: mode !== 'accept',
    clock,
    refusal,
    onRefused(remote, reason) {
      options.onRefused?.();
      tell(remote, reason);
    },
  });
}

/** As `Link` refuses: who dialed finds it in its log. */
function refusal(reason: string): Buffer {
  const writer = new FrameWriter();
  encodeRefusal(writer, `tls.nodes: ${reason}`);
  return writer.take();
}
