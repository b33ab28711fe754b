/** Written from the command table by test/sdk/command-generator.ts. */
import type { CallOptions, Key, Numeric, Value, Variadic, Word } from '../command-types.ts';

export interface ListCommands {
  /** Prepends elements to a list. Creates the key if it doesn’t exist. `LPUSH key element+` */
  lpush(key: Key, ...elements: Variadic): Promise<number>;
  /** Appends elements to a list. Creates the key if it doesn’t exist. `RPUSH key element+` */
  rpush(key: Key, ...elements: Variadic): Promise<number>;
  /** Prepends elements to a list only when the list exists. `LPUSHX key element+` */
  lpushx(key: Key, ...elements: Variadic): Promise<number>;
  /** Appends elements to a list only when the list exists. `RPUSHX key element+` */
  rpushx(key: Key, ...elements: Variadic): Promise<number>;
  /** Removes the first elements of a list and returns them. `LPOP key [count]` */
  lpop(key: Key, ...count: Variadic): Promise<string | readonly string[] | null>;
  /** Removes the last elements of a list and returns them. `RPOP key [count]` */
  rpop(key: Key, ...count: Variadic): Promise<string | readonly string[] | null>;
  /** Returns the length of a list. `LLEN key` */
  llen(key: Key, options?: CallOptions): Promise<number>;
  /**
   * Takes an element off one list, adds it to another and returns it. `LMOVE source destination
   * (LEFT | RIGHT) (LEFT | RIGHT)`
   */
  lmove(
    source: Key,
    destination: Key,
    end: Word<'LEFT' | 'RIGHT'>,
    end2: Word<'LEFT' | 'RIGHT'>,
    options?: CallOptions,
  ): Promise<string | null>;
  /**
   * Takes the last element off one list, prepends it to another and returns it. `RPOPLPUSH
   * source destination`
   */
  rpoplpush(source: Key, destination: Key, options?: CallOptions): Promise<string | null>;
  /**
   * Removes elements at an end of the first of several lists that has any. `LMPOP numkeys key+
   * (LEFT | RIGHT) [COUNT count]`
   */
  lmpop(
    numkeys: Numeric,
    ...more: Variadic<'LEFT' | 'RIGHT' | 'COUNT'>
  ): Promise<readonly [key: string, elements: readonly string[]] | null>;
  /** Returns an element of a list by its index. `LINDEX key index` */
  lindex(key: Key, index: Numeric, options?: CallOptions): Promise<string | null>;
  /** Returns a range of elements of a list. `LRANGE key start stop` */
  lrange(
    key: Key,
    start: Numeric,
    stop: Numeric,
    options?: CallOptions,
  ): Promise<readonly string[]>;
  /** Replaces an element of a list by its index. `LSET key index element` */
  lset(key: Key, index: Numeric, element: Value, options?: CallOptions): Promise<'OK'>;
  /** Removes elements that equal a value from a list. `LREM key count element` */
  lrem(key: Key, count: Numeric, element: Value, options?: CallOptions): Promise<number>;
  /** Removes all elements of a list outside a range. `LTRIM key start stop` */
  ltrim(key: Key, start: Numeric, stop: Numeric, options?: CallOptions): Promise<'OK'>;
  /**
   * Inserts an element before or after another one of a list. `LINSERT key (BEFORE | AFTER)
   * pivot element`
   */
  linsert(
    key: Key,
    where: Word<'BEFORE' | 'AFTER'>,
    pivot: Value,
    element: Value,
    options?: CallOptions,
  ): Promise<number>;
  /**
   * Returns the indices of elements of a list that equal a value. `LPOS key element [RANK rank]
   * [COUNT count] [MAXLEN length]`
   */
  lpos(
    key: Key,
    element: Value,
    ...more: Variadic<'RANK' | 'COUNT' | 'MAXLEN'>
  ): Promise<number | readonly number[] | null>;
  /**
   * Removes the first element of the first list that has any, and waits until one has. `BLPOP
   * key+ timeout`
   */
  blpop(...more: Variadic): Promise<readonly [key: string, element: string] | null>;
  /**
   * Removes the last element of the first list that has any, and waits until one has. `BRPOP
   * key+ timeout`
   */
  brpop(...more: Variadic): Promise<readonly [key: string, element: string] | null>;
  /**
   * Moves an element from one list to another, and waits until there is one. `BLMOVE source
   * destination (LEFT | RIGHT) (LEFT | RIGHT) timeout`
   */
  blmove(
    source: Key,
    destination: Key,
    end: Word<'LEFT' | 'RIGHT'>,
    end2: Word<'LEFT' | 'RIGHT'>,
    timeout: Numeric,
    options?: CallOptions,
  ): Promise<string | null>;
  /**
   * Moves the last element of a list to the head of another, and waits for one. `BRPOPLPUSH
   * source destination timeout`
   */
  brpoplpush(
    source: Key,
    destination: Key,
    timeout: Numeric,
    options?: CallOptions,
  ): Promise<string | null>;
  /**
   * Removes elements at an end of the first list that has any, and waits for one. `BLMPOP
   * timeout numkeys key+ (LEFT | RIGHT) [COUNT count]`
   */
  blmpop(
    timeout: Numeric,
    numkeys: Numeric,
    ...more: Variadic<'LEFT' | 'RIGHT' | 'COUNT'>
  ): Promise<readonly [key: string, elements: readonly string[]] | null>;
}
