/** Written from the command table by test/sdk/command-generator.ts. */
import type { CallOptions, Key, Nested, Numeric, Value, Variadic, Word } from '../command-types.ts';

export interface KeyspaceCommands {
  /** Deletes one or more keys. `DEL key+` */
  del(...keys: Variadic): Promise<number>;
  /** Asynchronously deletes one or more keys. `UNLINK key+` */
  unlink(...keys: Variadic): Promise<number>;
  /** Determines whether one or more keys exist. `EXISTS key+` */
  exists(...keys: Variadic): Promise<number>;
  /** Returns the number of existing keys out of those specified. `TOUCH key+` */
  touch(...keys: Variadic): Promise<number>;
  /** Determines the type of value stored at a key. `TYPE key` */
  type(key: Key, options?: CallOptions): Promise<string>;
  /** Renames a key and overwrites the destination. `RENAME key newkey` */
  rename(key: Key, newkey: Key, options?: CallOptions): Promise<'OK'>;
  /** Renames a key only when the target key name doesn’t exist. `RENAMENX key newkey` */
  renamenx(key: Key, newkey: Key, options?: CallOptions): Promise<number>;
  /**
   * Copies the value of a key to a new key. `COPY source destination [DB destination-db]
   * [REPLACE]`
   */
  copy(source: Key, destination: Key, ...more: Variadic<'DB' | 'REPLACE'>): Promise<number>;
  /**
   * Sorts the elements of a list, a set or a sorted set, and stores them if asked to. `SORT key
   * [BY pattern] [LIMIT offset count] [GET pattern]* [ASC | DESC] [ALPHA] [STORE destination]`
   */
  sort(
    key: Key,
    ...more: Variadic<'BY' | 'LIMIT' | 'GET' | 'ASC' | 'DESC' | 'ALPHA' | 'STORE'>
  ): Promise<readonly (string | null)[] | number>;
  /**
   * Returns the sorted elements of a list, a set or a sorted set. `SORT_RO key [BY pattern]
   * [LIMIT offset count] [GET pattern]* [ASC | DESC] [ALPHA]`
   */
  sort_ro(
    key: Key,
    ...more: Variadic<'BY' | 'LIMIT' | 'GET' | 'ASC' | 'DESC' | 'ALPHA'>
  ): Promise<readonly (string | null)[]>;
  /** Sets the expiration time of a key in seconds. `EXPIRE key seconds [NX | XX | GT | LT]` */
  expire(
    key: Key,
    seconds: Numeric,
    ...condition: Variadic<'NX' | 'XX' | 'GT' | 'LT'>
  ): Promise<number>;
  /**
   * Sets the expiration time of a key in milliseconds. `PEXPIRE key milliseconds [NX | XX | GT
   * | LT]`
   */
  pexpire(
    key: Key,
    milliseconds: Numeric,
    ...condition: Variadic<'NX' | 'XX' | 'GT' | 'LT'>
  ): Promise<number>;
  /**
   * Sets the expiration time of a key to a Unix timestamp. `EXPIREAT key unix-time-seconds [NX
   * | XX | GT | LT]`
   */
  expireat(
    key: Key,
    unixTimeSeconds: Numeric,
    ...condition: Variadic<'NX' | 'XX' | 'GT' | 'LT'>
  ): Promise<number>;
  /**
   * Sets the expiration time of a key to a Unix milliseconds timestamp. `PEXPIREAT key
   * unix-time-milliseconds [NX | XX | GT | LT]`
   */
  pexpireat(
    key: Key,
    unixTimeMilliseconds: Numeric,
    ...condition: Variadic<'NX' | 'XX' | 'GT' | 'LT'>
  ): Promise<number>;
  /** Removes the expiration time of a key. `PERSIST key` */
  persist(key: Key, options?: CallOptions): Promise<number>;
  /** Returns the expiration time in seconds of a key. `TTL key` */
  ttl(key: Key, options?: CallOptions): Promise<number>;
  /** Returns the expiration time in milliseconds of a key. `PTTL key` */
  pttl(key: Key, options?: CallOptions): Promise<number>;
  /** Returns the expiration time of a key as a Unix timestamp. `EXPIRETIME key` */
  expiretime(key: Key, options?: CallOptions): Promise<number>;
  /** Returns the expiration time of a key as a Unix milliseconds timestamp. `PEXPIRETIME key` */
  pexpiretime(key: Key, options?: CallOptions): Promise<number>;
  /** Returns the value of a key as Redis serializes it. `DUMP key` */
  dump(key: Key, options?: CallOptions): Promise<string | null>;
  /**
   * Creates a key from a value that DUMP returned, here or in Redis. `RESTORE key ttl
   * serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]`
   */
  restore(
    key: Key,
    ttl: Numeric,
    serializedValue: Value,
    ...more: Variadic<'REPLACE' | 'ABSTTL' | 'IDLETIME' | 'FREQ'>
  ): Promise<'OK'>;
  /**
   * A container for object introspection commands. `OBJECT ENCODING | FREQ | IDLETIME |
   * REFCOUNT | HELP`
   */
  object(
    subcommand: Word<'ENCODING' | 'FREQ' | 'IDLETIME' | 'REFCOUNT' | 'HELP'>,
    ...more: Variadic
  ): Promise<Nested>;
  /**
   * Iterates over the key names in the database. `SCAN cursor [MATCH pattern] [COUNT count]
   * [TYPE type]`
   */
  scan(
    cursor: Numeric,
    ...more: Variadic<'MATCH' | 'COUNT' | 'TYPE'>
  ): Promise<readonly [cursor: string, found: readonly string[]]>;
  /** Returns all key names that match a pattern. `KEYS pattern` */
  keys(pattern: Value, options?: CallOptions): Promise<readonly string[]>;
  /** Returns a random key name from the database. `RANDOMKEY` */
  randomkey(options?: CallOptions): Promise<string | null>;
  /** Refused: keys do not move between namespaces. `MOVE key db` */
  move(key: Key, db: Numeric, options?: CallOptions): Promise<number>;
  /**
   * Returns how many followers hold the writes before it: a quorum without the leader. `WAIT
   * numreplicas timeout`
   */
  wait(numreplicas: Numeric, timeout: Numeric, options?: CallOptions): Promise<number>;
  /**
   * Returns on how many disks the writes before it are: the leader, and its followers. `WAITAOF
   * numlocal numreplicas timeout`
   */
  waitaof(
    numlocal: Numeric,
    numreplicas: Numeric,
    timeout: Numeric,
    options?: CallOptions,
  ): Promise<readonly number[]>;
}
