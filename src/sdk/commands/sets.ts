/** Written from the command table by test/sdk/command-generator.ts. */
import type { CallOptions, Key, Numeric, Value, Variadic } from '../command-types.ts';

export interface SetCommands {
  /** Adds one or more members to a set; creates the set when there is none. `SADD key member+` */
  sadd(key: Key, ...members: Variadic): Promise<number>;
  /** Removes one or more members from a set; the set too when none remains. `SREM key member+` */
  srem(key: Key, ...members: Variadic): Promise<number>;
  /** Determines whether a member belongs to a set. `SISMEMBER key member` */
  sismember(key: Key, member: Value, options?: CallOptions): Promise<number>;
  /** Determines whether several members belong to a set. `SMISMEMBER key member+` */
  smismember(key: Key, ...members: Variadic): Promise<readonly number[]>;
  /** Returns the number of members in a set. `SCARD key` */
  scard(key: Key, options?: CallOptions): Promise<number>;
  /** Moves a member from one set to another. `SMOVE source destination member` */
  smove(source: Key, destination: Key, member: Value, options?: CallOptions): Promise<number>;
  /** Returns all members of a set. `SMEMBERS key` */
  smembers(key: Key, options?: CallOptions): Promise<readonly string[]>;
  /** Returns one or more random members of a set. `SRANDMEMBER key [count]` */
  srandmember(key: Key, ...count: Variadic): Promise<string | readonly string[] | null>;
  /** Returns one or more random members of a set and removes them. `SPOP key [count]` */
  spop(key: Key, ...count: Variadic): Promise<string | readonly string[] | null>;
  /** Iterates over members of a set. `SSCAN key cursor [MATCH pattern] [COUNT count]` */
  sscan(
    key: Key,
    cursor: Numeric,
    ...more: Variadic<'MATCH' | 'COUNT'>
  ): Promise<readonly [cursor: string, found: readonly string[]]>;
  /** Returns the members that all of the sets have. `SINTER key+` */
  sinter(...keys: Variadic): Promise<readonly string[]>;
  /** Returns the members that any of the sets has. `SUNION key+` */
  sunion(...keys: Variadic): Promise<readonly string[]>;
  /** Returns the members of the first set that none of the others has. `SDIFF key+` */
  sdiff(...keys: Variadic): Promise<readonly string[]>;
  /** Stores the members that all of the sets have under a key. `SINTERSTORE destination key+` */
  sinterstore(destination: Key, ...keys: Variadic): Promise<number>;
  /** Stores the members that any of the sets has under a key. `SUNIONSTORE destination key+` */
  sunionstore(destination: Key, ...keys: Variadic): Promise<number>;
  /**
   * Stores the members of the first set that none of the others has under a key. `SDIFFSTORE
   * destination key+`
   */
  sdiffstore(destination: Key, ...keys: Variadic): Promise<number>;
  /** Returns how many members all of the sets have. `SINTERCARD numkeys key+ [LIMIT limit]` */
  sintercard(numkeys: Numeric, ...more: Variadic<'LIMIT'>): Promise<number>;
}
