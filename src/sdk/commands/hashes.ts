/** Written from the command table by test/sdk/command-generator.ts. */
import type { CallOptions, Key, Numeric, Pairs, Value, Variadic } from '../command-types.ts';

export interface HashCommands {
  /** Creates or modifies the value of fields in a hash. `HSET key (field value)+` */
  hset(key: Key, ...pairs: Pairs): Promise<number>;
  /** Sets the values of multiple fields. `HMSET key (field value)+` */
  hmset(key: Key, ...pairs: Pairs): Promise<'OK'>;
  /**
   * Sets the value of a field in a hash only when the field doesn’t exist. `HSETNX key field
   * value`
   */
  hsetnx(key: Key, field: Value, value: Value, options?: CallOptions): Promise<number>;
  /**
   * Deletes fields and their values from a hash; the hash too when none remains. `HDEL key
   * field+`
   */
  hdel(key: Key, ...fields: Variadic): Promise<number>;
  /** Returns the value of a field in a hash. `HGET key field` */
  hget(key: Key, field: Value, options?: CallOptions): Promise<string | null>;
  /** Determines whether a field exists in a hash. `HEXISTS key field` */
  hexists(key: Key, field: Value, options?: CallOptions): Promise<number>;
  /** Returns the length of the value of a field. `HSTRLEN key field` */
  hstrlen(key: Key, field: Value, options?: CallOptions): Promise<number>;
  /** Returns the values of the given fields in a hash. `HMGET key field+` */
  hmget(key: Key, ...fields: Variadic): Promise<readonly (string | null)[]>;
  /** Returns the number of fields in a hash. `HLEN key` */
  hlen(key: Key, options?: CallOptions): Promise<number>;
  /** Returns all fields in a hash. `HKEYS key` */
  hkeys(key: Key, options?: CallOptions): Promise<readonly string[]>;
  /** Returns all values in a hash. `HVALS key` */
  hvals(key: Key, options?: CallOptions): Promise<readonly string[]>;
  /** Returns all fields and values in a hash. `HGETALL key` */
  hgetall(key: Key, options?: CallOptions): Promise<Readonly<Record<string, string>>>;
  /**
   * Sets how many seconds hash fields are kept. `HEXPIRE key seconds [NX | XX | GT | LT]
   * (FIELDS numfields field+)`
   */
  hexpire(
    key: Key,
    seconds: Numeric,
    ...more: Variadic<'NX' | 'XX' | 'GT' | 'LT' | 'FIELDS'>
  ): Promise<readonly number[]>;
  /**
   * Sets how many milliseconds hash fields are kept. `HPEXPIRE key milliseconds [NX | XX | GT |
   * LT] (FIELDS numfields field+)`
   */
  hpexpire(
    key: Key,
    milliseconds: Numeric,
    ...more: Variadic<'NX' | 'XX' | 'GT' | 'LT' | 'FIELDS'>
  ): Promise<readonly number[]>;
  /**
   * Sets the Unix time, in seconds, until which hash fields are kept. `HEXPIREAT key
   * unix-time-seconds [NX | XX | GT | LT] (FIELDS numfields field+)`
   */
  hexpireat(
    key: Key,
    unixTimeSeconds: Numeric,
    ...more: Variadic<'NX' | 'XX' | 'GT' | 'LT' | 'FIELDS'>
  ): Promise<readonly number[]>;
  /**
   * Sets the Unix time, in milliseconds, until which hash fields are kept. `HPEXPIREAT key
   * unix-time-milliseconds [NX | XX | GT | LT] (FIELDS numfields field+)`
   */
  hpexpireat(
    key: Key,
    unixTimeMilliseconds: Numeric,
    ...more: Variadic<'NX' | 'XX' | 'GT' | 'LT' | 'FIELDS'>
  ): Promise<readonly number[]>;
  /** Keeps hash fields for good. `HPERSIST key (FIELDS numfields field+)` */
  hpersist(key: Key, ...fields: Variadic<'FIELDS'>): Promise<readonly number[]>;
  /** Returns for how many seconds hash fields are kept. `HTTL key (FIELDS numfields field+)` */
  httl(key: Key, ...fields: Variadic<'FIELDS'>): Promise<readonly number[]>;
  /**
   * Returns for how many milliseconds hash fields are kept. `HPTTL key (FIELDS numfields
   * field+)`
   */
  hpttl(key: Key, ...fields: Variadic<'FIELDS'>): Promise<readonly number[]>;
  /**
   * Returns the Unix time, in seconds, until which hash fields are kept. `HEXPIRETIME key
   * (FIELDS numfields field+)`
   */
  hexpiretime(key: Key, ...fields: Variadic<'FIELDS'>): Promise<readonly number[]>;
  /**
   * Returns the Unix time, in milliseconds, until which hash fields are kept. `HPEXPIRETIME key
   * (FIELDS numfields field+)`
   */
  hpexpiretime(key: Key, ...fields: Variadic<'FIELDS'>): Promise<readonly number[]>;
  /**
   * Increments the integer value of a field in a hash by a number. `HINCRBY key field
   * increment`
   */
  hincrby(key: Key, field: Value, increment: Numeric, options?: CallOptions): Promise<number>;
  /**
   * Increments the floating point value of a field in a hash by a number. `HINCRBYFLOAT key
   * field increment`
   */
  hincrbyfloat(key: Key, field: Value, increment: Numeric, options?: CallOptions): Promise<string>;
  /** Returns one or more random fields from a hash. `HRANDFIELD key [count [WITHVALUES]]` */
  hrandfield(
    key: Key,
    ...options: Variadic<'WITHVALUES'>
  ): Promise<string | readonly string[] | null>;
  /**
   * Iterates over fields and values of a hash. `HSCAN key cursor [MATCH pattern] [COUNT count]
   * [NOVALUES]`
   */
  hscan(
    key: Key,
    cursor: Numeric,
    ...more: Variadic<'MATCH' | 'COUNT' | 'NOVALUES'>
  ): Promise<readonly [cursor: string, found: readonly string[]]>;
  /**
   * Returns the values of hash fields after deleting them; the hash too when none remains.
   * `HGETDEL key (FIELDS numfields field+)`
   */
  hgetdel(key: Key, ...fields: Variadic<'FIELDS'>): Promise<readonly (string | null)[]>;
  /**
   * Returns the values of hash fields after setting how long they are kept. `HGETEX key [EX
   * seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST]
   * (FIELDS numfields field+)`
   */
  hgetex(
    key: Key,
    ...more: Variadic<'EX' | 'PX' | 'EXAT' | 'PXAT' | 'PERSIST' | 'FIELDS'>
  ): Promise<readonly (string | null)[]>;
  /**
   * Sets hash fields on condition, and how long they are kept. `HSETEX key [FNX | FXX] [EX
   * seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]
   * (FIELDS numfields (field value)+)`
   */
  hsetex(
    key: Key,
    ...more: Variadic<'FNX' | 'FXX' | 'EX' | 'PX' | 'EXAT' | 'PXAT' | 'KEEPTTL' | 'FIELDS'>
  ): Promise<number>;
}
