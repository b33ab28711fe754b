/** What processes show each other in tests, and whom they believe. */
import type { KeyAndCertificate } from '../../../src/cli/certificates/authority.ts';
import type { PeerCredentials } from '../../../src/common/tls/mutual-network.ts';
import { issued, newAuthority } from './made-certificates.ts';

export interface Shown {
  readonly hosts?: readonly string[];
  readonly clientOnly?: boolean;
  /** It is valid for 30 days. */
  readonly madeDaysAgo?: number;
}

const DAY_MS = 86_400_000;

export class TestAuthority {
  readonly pair: KeyAndCertificate = newAuthority();

  get certificate(): string {
    return this.pair.certificate;
  }

  issue(name: string, { madeDaysAgo = 0, ...leaf }: Shown = {}): PeerCredentials {
    const nowMs = Date.now() - madeDaysAgo * DAY_MS;
    const pair = issued({ ...leaf, name, nowMs, days: 30, by: this.pair });
    return { ...pair, authorities: this.certificate };
  }
}
