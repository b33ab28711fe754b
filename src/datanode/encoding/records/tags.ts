/**
 * File of record: the first byte of every engine key. Numbers are frozen; a new kind of record
 * takes a free number of its layer's range, and gets a vector in vectors.test.ts.
 *
 * All numbers in keys are big-endian; `version` is u64 index + u32 ordinal (see header.ts).
 *
 *   system      0x01  name
 *   served      0x02  id of a client that waited               → order u64, its reply
 *   servedOrder 0x03  order u64                                 → that id
 *   session     0x04  id                                        → see sessions/sessions.ts
 *   sessionReply 0x05 number u64 · sequence u64                 → kept reply
 *   sessionKept 0x06  number u64 · place u64                    → sequence u64
 *   sessionOrder 0x07 order u64                                 → id
 *   sessionEnded 0x08 order u64                                 → number u64 · first u64 · next u64
 *   key         0x10  slot u16 · hash u32 · key                     → header (strings: + value)
 *   expiry      0x11  deadline u64 · slot u16 · key                 → flags
 *   hashField   0x12  slot u16 · version · hash u64 · field         → flags, value
 *   listElement 0x13  slot u16 · version · place u64 · fraction     → flags, value
 *   setMember   0x14  slot u16 · version · hash u64 · member        → flags
 *   zsetMember  0x15  slot u16 · version · hash u64 · member        → flags, score f64
 *   zsetScore   0x16  slot u16 · version · sortable score · member  → flags
 *   streamEntry 0x17  slot u16 · version · id                   → see streams/stream-entry.ts
 *   streamGroup 0x18  slot u16 · version · kind u8 …             → see records/stream-key.ts
 *   streamPending 0x19 slot u16 · version · group u32 · kind u8 … → see records/stream-key.ts
 *   hashDue     0x1a  slot u16 · version · deadline u64 · field     → flags
 *   fieldExpiry 0x1b  deadline u64 · slot u16 · key                 → flags
 *   zsetBlock   0x1c  slot u16 · version · node u32 · part u8       → see ranks/rank-node.ts
 *   garbage     0x1f  slot u16 · version · type u8                  → flags
 *
 * `hash` is that of member-hash.ts. Keys of one slot are ordered by their hash, then the key: so a
 * SCAN cursor (slot and hash) needs no server state, and a random key is a seek. Elements carry the
 * version of their collection instead of its key: the version is unique in the group, so deleting
 * a collection and renaming it within its slot cost O(1).
 */
export const tags = {
  system: 0x01,
  /** What a client that waited was given, until its node has confirmed it. */
  served: 0x02,
  /** The same in the order in which they were given. */
  servedOrder: 0x03,
  /** A client's session: what a write sent twice is known by. */
  session: 0x04,
  /** What a command under a session answered. */
  sessionReply: 0x05,
  /** The sequences of those, in the order in which they were answered. */
  sessionKept: 0x06,
  /** Sessions in the order of their use. */
  sessionOrder: 0x07,
  /** One that has ended and whose replies are still to be removed. */
  sessionEnded: 0x08,

  key: 0x10,
  expiry: 0x11,
  hashField: 0x12,
  listElement: 0x13,
  setMember: 0x14,
  zsetMember: 0x15,
  zsetScore: 0x16,
  streamEntry: 0x17,
  /** A stream's consumer groups, and their consumers. */
  streamGroup: 0x18,
  /** What consumers were given and have not acknowledged. */
  streamPending: 0x19,
  /** A hash field that has a deadline: where the due ones of a hash are found. */
  hashDue: 0x1a,
  /** A hash of which fields are due: as `expiry`, but the hash itself stays. */
  fieldExpiry: 0x1b,
  /** How many elements each stretch of a sorted set's scores has. */
  zsetBlock: 0x1c,
  /** A collection whose elements wait to be removed. */
  garbage: 0x1f,
} as const;

/**
 * First and last tag of each layer. 0x00 is the engine's own (engine/redo.ts), 0xff never used: they
 * bound every key.
 */
export const tagRanges = {
  system: [0x01, 0x0f],
  redis: [0x10, 0x3f],
  index: [0x40, 0x4f],
  topic: [0x50, 0x5f],
  queue: [0x60, 0x6f],
  blob: [0x70, 0x7f],
} as const satisfies Record<string, readonly [number, number]>;
