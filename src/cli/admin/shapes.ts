/** What of /v1's answers the command line reads. */

export interface NodeAnswer {
  readonly name: string;
  readonly alive: boolean;
  readonly lostSinceMs: number | null;
  readonly address?: { readonly host: string; readonly gatewayPort: number };
  readonly tags?: Readonly<Record<string, string>>;
  readonly replicas: number;
  readonly leaders: number;
  /** Absent: an older placedriver's, which does not tell. */
  readonly stopped?: number;
  readonly load?: {
    readonly keys: number;
    readonly diskBytes: number;
    readonly memoryBytes: number;
  };
  readonly draining: {
    readonly replicas: number;
    readonly left: number;
    readonly progress: number;
    readonly etaMs: number | null;
    /** Absent: an older placedriver's, which does not tell. */
    readonly waitsFor?: string | null;
  } | null;
}

export interface NamespaceAnswer {
  readonly name: string;
  readonly state: string;
  readonly partitions: number;
  readonly replicas: number;
  readonly hash: string;
  readonly reads: string;
  readonly tags: readonly string[];
  readonly led: number;
  readonly settled: number;
}

export interface PartitionAnswer {
  readonly namespace: string;
  readonly partition: number;
  readonly epoch: number;
  readonly wanted: readonly { readonly replica: number; readonly node: string }[];
  readonly leader: { readonly node: string; readonly term: number } | null;
  readonly actual: {
    readonly voters: readonly number[];
    readonly learners: readonly number[];
    readonly joint: boolean;
  } | null;
  readonly settled: boolean;
  /** Absent: an older placedriver's, which does not tell. */
  readonly stopped?: readonly { readonly node: string; readonly replica: number }[];
}

export interface ClusterAnswer {
  readonly master: string | null;
  readonly stability: { readonly frozen: string | null; readonly unbalanced: string | null };
  readonly nodes: {
    readonly alive: number;
    readonly stable: number;
    readonly draining: number;
  };
  readonly partitions: { readonly total: number; readonly led: number; readonly settled: number };
  readonly balance: {
    readonly enabled: boolean;
    readonly window: { readonly from: string; readonly to: string } | null;
  };
  readonly upgrade: { readonly on: boolean; readonly sinceMs: number | null };
}

export interface PlannedAnswer {
  readonly frozen: string | null;
  readonly unbalanced: string | null;
  readonly moves: readonly {
    readonly namespace: string;
    readonly partition: number;
    readonly from: string | null;
    readonly to: string | null;
  }[];
}
