/** Bounds of TLS. They are part of `limits` (`limits.ts`), which is what others import. */
const KIB = 1024;

export const tlsLimits = {
  /** A file of certificates or a key. */
  tlsFileBytesMax: 1024 * KIB,
  /** Between two looks at whether the files have changed. */
  tlsFilesLookMs: 10_000,
  /** Files that do not go together are looked at once more after so long: they may be being changed. */
  tlsFilesAgainMs: 1_000,
  /** From the first byte of a connection until its handshake is over, and until there is a first byte. */
  tlsHandshakeMs: 10_000,
  /** Handshakes that are under way in one process, some 60 KiB each: others wait for their turn. */
  tlsHandshakesMax: 512,
  /** Who takes longer makes room when others wait. */
  tlsHandshakeSlowMs: 2_000,
  /** Of what goes wrong with handshakes so many lines are written in so long. */
  tlsFailureLines: { most: 10, inMs: 60_000 },
  /** So many days before a certificate ends the log says so, and again. */
  tlsWarnDays: [30, 7],
  /** Connections to a transport's port that have not shaken hands, and how long that may take. */
  peerTlsHandshakesMax: 256,
  peerTlsHandshakeMs: 5_000,
} as const;
