/** Bounds of TLS. They are part of `limits` (`limits.ts`), which is what others import. */
const KIB = 1024;

export const tlsLimits = {
  /** A file of certificates or a key. */
  tlsFileBytesMax: 1024 * KIB,
  /** Between two looks at whether the files have changed. */
  tlsFilesLookMs: 10_000,
  /** Files that do not go together are looked at once more after so long: they may be being changed. */
  tlsFilesAgainMs: 1_000,
  /** So many days before a certificate ends the log says so, and again. */
  tlsWarnDays: [30, 7],
  /** Connections to a transport's port that have not shaken hands, and how long that may take. */
  peerTlsHandshakesMax: 256,
  peerTlsHandshakeMs: 5_000,
} as const;
