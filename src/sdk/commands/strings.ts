/** Written from the command table by test/sdk/command-generator.ts. */
import type {
  CallOptions,
  Key,
  Nested,
  Numeric,
  Pairs,
  Value,
  Variadic,
  Word,
} from '../command-types.ts';

export interface StringCommands {
  /**
   * Sets the string value of a key, ignoring its type. The key is created if it doesn’t exist.
   * `SET key value [NX | XX | IFEQ ifeq-value | IFNE ifne-value | IFDEQ ifdeq-digest | IFDNE
   * ifdne-digest] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT
   * unix-time-milliseconds | KEEPTTL]`
   */
  set(
    key: Key,
    value: Value,
    ...more: Variadic<
      | 'NX'
      | 'XX'
      | 'IFEQ'
      | 'IFNE'
      | 'IFDEQ'
      | 'IFDNE'
      | 'GET'
      | 'EX'
      | 'PX'
      | 'EXAT'
      | 'PXAT'
      | 'KEEPTTL'
    >
  ): Promise<string | null>;
  /**
   * Sets the string value and expiration time of a key. Creates the key if needed. `SETEX key
   * seconds value`
   */
  setex(key: Key, seconds: Numeric, value: Value, options?: CallOptions): Promise<'OK'>;
  /**
   * Sets both string value and expiration time in milliseconds of a key. `PSETEX key
   * milliseconds value`
   */
  psetex(key: Key, milliseconds: Numeric, value: Value, options?: CallOptions): Promise<'OK'>;
  /** Sets the string value of a key only when the key doesn’t exist. `SETNX key value` */
  setnx(key: Key, value: Value, options?: CallOptions): Promise<number>;
  /** Returns the string value of a key. `GET key` */
  get(key: Key, options?: CallOptions): Promise<string | null>;
  /**
   * Returns the previous string value of a key after setting it to a new value. `GETSET key
   * value`
   */
  getset(key: Key, value: Value, options?: CallOptions): Promise<string | null>;
  /** Returns the string value of a key after deleting the key. `GETDEL key` */
  getdel(key: Key, options?: CallOptions): Promise<string | null>;
  /**
   * Returns the string value of a key after setting its expiration time. `GETEX key [EX seconds
   * | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST]`
   */
  getex(
    key: Key,
    ...expiration: Variadic<'EX' | 'PX' | 'EXAT' | 'PXAT' | 'PERSIST'>
  ): Promise<string | null>;
  /** Atomically returns the string values of one or more keys. `MGET key+` */
  mget(...keys: Variadic): Promise<readonly (string | null)[]>;
  /** Atomically creates or modifies the string values of one or more keys. `MSET (key value)+` */
  mset(...pairs: Pairs): Promise<'OK'>;
  /**
   * Atomically modifies the string values of one or more keys only when none exists. `MSETNX
   * (key value)+`
   */
  msetnx(...pairs: Pairs): Promise<number>;
  /**
   * Atomically sets the string values of one or more keys, with one expiration time. `MSETEX
   * numkeys (key value)+ [NX | XX] [EX seconds | PX milliseconds | EXAT unix-time-seconds |
   * PXAT unix-time-milliseconds | KEEPTTL]`
   */
  msetex(
    numkeys: Numeric,
    ...more: Variadic<'NX' | 'XX' | 'EX' | 'PX' | 'EXAT' | 'PXAT' | 'KEEPTTL'>
  ): Promise<number>;
  /**
   * Increments the integer value of a key by one. Uses 0 as initial value if the key is absent.
   * `INCR key`
   */
  incr(key: Key, options?: CallOptions): Promise<number>;
  /**
   * Decrements the integer value of a key by one. Uses 0 as initial value if the key is absent.
   * `DECR key`
   */
  decr(key: Key, options?: CallOptions): Promise<number>;
  /**
   * Increments the integer value of a key by a number. Uses 0 as initial value. `INCRBY key
   * increment`
   */
  incrby(key: Key, increment: Numeric, options?: CallOptions): Promise<number>;
  /**
   * Decrements a number from the integer value of a key. Uses 0 as initial value. `DECRBY key
   * decrement`
   */
  decrby(key: Key, decrement: Numeric, options?: CallOptions): Promise<number>;
  /**
   * Increments the floating point value of a key by a number. Uses 0 as initial value.
   * `INCRBYFLOAT key increment`
   */
  incrbyfloat(key: Key, increment: Numeric, options?: CallOptions): Promise<string>;
  /**
   * Appends a string to the value of a key. Creates the key if it doesn’t exist. `APPEND key
   * value`
   */
  append(key: Key, value: Value, options?: CallOptions): Promise<number>;
  /** Returns the length of a string value. `STRLEN key` */
  strlen(key: Key, options?: CallOptions): Promise<number>;
  /** Returns a substring of the string stored at a key. `GETRANGE key start end` */
  getrange(key: Key, start: Numeric, end: Numeric, options?: CallOptions): Promise<string>;
  /** Returns a substring from a string value. `SUBSTR key start end` */
  substr(key: Key, start: Numeric, end: Numeric, options?: CallOptions): Promise<string>;
  /**
   * Overwrites a part of a string value with another by an offset. Creates the key if needed.
   * `SETRANGE key offset value`
   */
  setrange(key: Key, offset: Numeric, value: Value, options?: CallOptions): Promise<number>;
  /**
   * Finds the longest common substring. `LCS key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len]
   * [WITHMATCHLEN]`
   */
  lcs(
    key1: Key,
    key2: Key,
    ...more: Variadic<'LEN' | 'IDX' | 'MINMATCHLEN' | 'WITHMATCHLEN'>
  ): Promise<Nested>;
  /**
   * Deletes a key, on condition of what its value is. `DELEX key [IFEQ ifeq-value | IFNE
   * ifne-value | IFDEQ ifdeq-digest | IFDNE ifdne-digest]`
   */
  delex(key: Key, ...condition: Variadic<'IFEQ' | 'IFNE' | 'IFDEQ' | 'IFDNE'>): Promise<number>;
  /** Returns the XXH3 digest of a string. `DIGEST key` */
  digest(key: Key, options?: CallOptions): Promise<string | null>;
  /**
   * Sets or clears one bit of a string. Creates the key if it doesn’t exist. `SETBIT key offset
   * value`
   */
  setbit(key: Key, offset: Numeric, value: Numeric, options?: CallOptions): Promise<number>;
  /** Returns one bit of a string. `GETBIT key offset` */
  getbit(key: Key, offset: Numeric, options?: CallOptions): Promise<number>;
  /**
   * Counts the bits that are set in a string or a part of it. `BITCOUNT key [start end [BYTE |
   * BIT]]`
   */
  bitcount(key: Key, ...range: Variadic<'BYTE' | 'BIT'>): Promise<number>;
  /**
   * Finds the first bit of a string that is set, or that is clear. `BITPOS key bit [start [end
   * [BYTE | BIT]]]`
   */
  bitpos(key: Key, bit: Numeric, ...range: Variadic<'BYTE' | 'BIT'>): Promise<number>;
  /**
   * Combines strings bit by bit and stores the result. `BITOP (AND | OR | XOR | NOT | DIFF |
   * DIFF1 | ANDOR | ONE) destkey key+`
   */
  bitop(
    operation: Word<'AND' | 'OR' | 'XOR' | 'NOT' | 'DIFF' | 'DIFF1' | 'ANDOR' | 'ONE'>,
    destkey: Key,
    ...keys: Variadic
  ): Promise<number>;
  /**
   * Reads and changes integers of any width within a string. `BITFIELD key [GET type offset |
   * ([OVERFLOW (WRAP | SAT | FAIL)] (SET type offset value | INCRBY type offset increment))]*`
   */
  bitfield(
    key: Key,
    ...operations: Variadic<'GET' | 'OVERFLOW' | 'WRAP' | 'SAT' | 'FAIL' | 'SET' | 'INCRBY'>
  ): Promise<readonly (number | null)[]>;
  /** Reads integers of any width within a string. `BITFIELD_RO key [GET type offset]*` */
  bitfield_ro(key: Key, ...gets: Variadic<'GET'>): Promise<readonly (number | null)[]>;
  /** Adds elements to a HyperLogLog. Creates the key if it doesn’t exist. `PFADD key [element]*` */
  pfadd(key: Key, ...elements: Variadic): Promise<number>;
  /** Returns about how many different elements HyperLogLogs have seen together. `PFCOUNT key+` */
  pfcount(...keys: Variadic): Promise<number>;
  /** Merges HyperLogLogs into one. `PFMERGE destkey [sourcekey]*` */
  pfmerge(destkey: Key, ...sourcekeys: Variadic): Promise<'OK'>;
  /** Answers OK: what it checks in Redis is checked before a build is released. `PFSELFTEST` */
  pfselftest(options?: CallOptions): Promise<string>;
  /**
   * Sets a string if it has the value given; a missing key has the empty one. `SETIFEQ key old
   * value [EX seconds]`
   */
  setifeq(key: Key, old: Value, value: Value, ...seconds: Variadic<'EX'>): Promise<number>;
  /** Deletes a string if it has the value given. `DELIFEQ key old` */
  delifeq(key: Key, old: Value, options?: CallOptions): Promise<number>;
  /**
   * Sets several strings, each partition its own; keys of other types are left alone. `PLSET
   * (key value)+`
   */
  plset(...pairs: Pairs): Promise<'OK'>;
}
