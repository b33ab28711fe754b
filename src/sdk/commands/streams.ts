/** Written from the command table by test/sdk/command-generator.ts. */
import type {
  CallOptions,
  Key,
  Nested,
  StreamClaim,
  StreamEntries,
  StreamEntry,
  StreamPending,
  Value,
  Variadic,
  Word,
} from '../command-types.ts';

export interface StreamCommands {
  /**
   * Appends an entry to a stream. Creates the key if it doesn’t exist. `XADD key [NOMKSTREAM]
   * [KEEPREF | DELREF | ACKED] [(MAXLEN | MINID) [= | ~] threshold [LIMIT count]] (* | id)
   * (field value)+`
   */
  xadd(
    key: Key,
    ...more: Variadic<
      'NOMKSTREAM' | 'KEEPREF' | 'DELREF' | 'ACKED' | 'MAXLEN' | 'MINID' | '=' | '~' | 'LIMIT' | '*'
    >
  ): Promise<string | null>;
  /** Removes entries from a stream and returns how many there were. `XDEL key id+` */
  xdel(key: Key, ...ids: Variadic): Promise<number>;
  /** Returns the number of entries in a stream. `XLEN key` */
  xlen(key: Key, options?: CallOptions): Promise<number>;
  /**
   * Sets the last ID of a stream, and what it tells of entries before. `XSETID key last-id
   * [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]`
   */
  xsetid(
    key: Key,
    lastId: Value,
    ...more: Variadic<'ENTRIESADDED' | 'MAXDELETEDID'>
  ): Promise<'OK'>;
  /**
   * Removes entries from the beginning of a stream. `XTRIM key ((MAXLEN | MINID) [= | ~]
   * threshold [LIMIT count]) [KEEPREF | DELREF | ACKED]`
   */
  xtrim(
    key: Key,
    ...more: Variadic<'MAXLEN' | 'MINID' | '=' | '~' | 'LIMIT' | 'KEEPREF' | 'DELREF' | 'ACKED'>
  ): Promise<number>;
  /**
   * Deletes entries of a stream, and says what becomes of what groups have pending of them.
   * `XDELEX key [KEEPREF | DELREF | ACKED] (IDS numids id+)`
   */
  xdelex(
    key: Key,
    ...more: Variadic<'KEEPREF' | 'DELREF' | 'ACKED' | 'IDS'>
  ): Promise<readonly number[]>;
  /**
   * Acknowledges entries of a group, and deletes them from its stream. `XACKDEL key group
   * [KEEPREF | DELREF | ACKED] (IDS numids id+)`
   */
  xackdel(
    key: Key,
    group: Value,
    ...more: Variadic<'KEEPREF' | 'DELREF' | 'ACKED' | 'IDS'>
  ): Promise<readonly number[]>;
  /** Returns the entries of a stream between two IDs. `XRANGE key start end [COUNT count]` */
  xrange(
    key: Key,
    start: Value,
    end: Value,
    ...count: Variadic<'COUNT'>
  ): Promise<readonly StreamEntry[]>;
  /**
   * Returns the entries of a stream between two IDs, the last first. `XREVRANGE key end start
   * [COUNT count]`
   */
  xrevrange(
    key: Key,
    end: Value,
    start: Value,
    ...count: Variadic<'COUNT'>
  ): Promise<readonly StreamEntry[]>;
  /**
   * Returns the entries of streams behind given IDs, and waits for some if asked to. `XREAD
   * [COUNT count] [BLOCK milliseconds] (STREAMS key+ id+)`
   */
  xread(...more: Variadic<'COUNT' | 'BLOCK' | 'STREAMS'>): Promise<StreamEntries | null>;
  /**
   * A container for commands about consumer groups. `XGROUP CREATE | CREATECONSUMER |
   * DELCONSUMER | DESTROY | SETID | HELP`
   */
  xgroup(
    subcommand: Word<'CREATE' | 'CREATECONSUMER' | 'DELCONSUMER' | 'DESTROY' | 'SETID' | 'HELP'>,
    ...more: Variadic
  ): Promise<Nested>;
  /**
   * Returns entries of streams for a consumer of a group, and waits for some if asked to.
   * `XREADGROUP (GROUP group consumer) [COUNT count] [BLOCK milliseconds] [CLAIM min-idle-time]
   * [NOACK] (STREAMS key+ id+)`
   */
  xreadgroup(
    ...more: Variadic<'GROUP' | 'COUNT' | 'BLOCK' | 'CLAIM' | 'NOACK' | 'STREAMS'>
  ): Promise<StreamEntries | null>;
  /** Acknowledges entries that a consumer of a group was given. `XACK key group id+` */
  xack(key: Key, group: Value, ...ids: Variadic): Promise<number>;
  /**
   * Returns what the consumers of a group were given and have not acknowledged. `XPENDING key
   * group [[IDLE min-idle-time] start end count [consumer]]`
   */
  xpending(key: Key, group: Value, ...filters: Variadic<'IDLE'>): Promise<StreamPending>;
  /**
   * Gives a consumer what has been pending for long, and returns where to go on. `XAUTOCLAIM
   * key group consumer min-idle-time start [COUNT count] [JUSTID]`
   */
  xautoclaim(
    key: Key,
    group: Value,
    consumer: Value,
    minIdleTime: Value,
    start: Value,
    ...more: Variadic<'COUNT' | 'JUSTID'>
  ): Promise<StreamClaim>;
  /**
   * Gives a consumer entries that are pending, as if it had read them. `XCLAIM key group
   * consumer min-idle-time id+ [IDLE ms] [TIME unix-time-milliseconds] [RETRYCOUNT count]
   * [FORCE] [JUSTID] [LASTID lastid]`
   */
  xclaim(
    key: Key,
    group: Value,
    consumer: Value,
    minIdleTime: Value,
    ...more: Variadic<'IDLE' | 'TIME' | 'RETRYCOUNT' | 'FORCE' | 'JUSTID' | 'LASTID'>
  ): Promise<readonly StreamEntry[] | readonly string[]>;
  /** A container for commands that look into streams. `XINFO CONSUMERS | GROUPS | STREAM | HELP` */
  xinfo(
    subcommand: Word<'CONSUMERS' | 'GROUPS' | 'STREAM' | 'HELP'>,
    ...more: Variadic
  ): Promise<Nested>;
}
