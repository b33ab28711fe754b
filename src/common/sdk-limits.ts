/** Bounds of the TypeScript client. They are part of `limits` (`limits.ts`), which is what others import. */
export const sdkLimits = {
  /** Random bytes of a session's id; on the wire it is their hex. */
  sessionIdBytes: 16,
  /** Sessions that a client closes when it ends: the others are collected by their groups. */
  sdkSessionClosesMax: 4_096,
  sdkBlockingIdleMax: 8,
  /** Transactions of a client that watch keys at a time: each has a connection. */
  sdkWatchesMax: 64,
  /** Changes of a client's state kept for a reader that lags; the oldest are dropped. */
  sdkChangesMax: 1_024,
  /** A connection that owes replies and has given none for so long is replaced. */
  sdkSilentMs: 10_000,
  /** The same of one for commands without keys, such as WAIT, which may take as long as they are told. */
  sdkSilentAnyMs: 60_000,
  /** For an answer of another placedriver than the usual one, which is asked after it. */
  sdkOtherPlacedriverMs: 500,
  /** How often connections to nodes that have gone are looked at. */
  sdkLeavingLookMs: 100,
  /** Between two questions of a subscriber whether its node is there. */
  sdkPingMs: 3_000,
} as const;
