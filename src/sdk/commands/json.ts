/** Written from the command table by test/sdk/command-generator.ts. */
import type { CallOptions, Key, Nested, Numeric, Value, Variadic } from '../command-types.ts';

export interface JsonCommands {
  /** Sets or updates the JSON value at a path. `JSON.SET key path value [NX | XX]` */
  jsonSet(
    key: Key,
    path: Value,
    value: Value,
    ...condition: Variadic<'NX' | 'XX'>
  ): Promise<string | null>;
  /**
   * Sets or updates the JSON values of one or more keys, all of them or none. `JSON.MSET (key
   * path value)+`
   */
  jsonMset(...datas: Variadic): Promise<'OK'>;
  /**
   * Merges a JSON value into those at a path: sets, updates and deletes members. `JSON.MERGE
   * key path value`
   */
  jsonMerge(key: Key, path: Value, value: Value, options?: CallOptions): Promise<string | null>;
  /** Deletes the values at a path, or the key. `JSON.DEL key [path]` */
  jsonDel(key: Key, ...path: Variadic): Promise<number>;
  /** Deletes the values at a path, or the key. `JSON.FORGET key [path]` */
  jsonForget(key: Key, ...path: Variadic): Promise<number>;
  /** Empties arrays and objects, and sets numbers to zero. `JSON.CLEAR key [path]` */
  jsonClear(key: Key, ...path: Variadic): Promise<number>;
  /**
   * Returns the values at one or more paths as JSON text. `JSON.GET key [INDENT indent]
   * [NEWLINE newline] [SPACE space] [path]*`
   */
  jsonGet(key: Key, ...more: Variadic<'INDENT' | 'NEWLINE' | 'SPACE'>): Promise<string | null>;
  /** Returns the values at a path of several keys. `JSON.MGET key+ path` */
  jsonMget(...more: Variadic): Promise<readonly (string | null)[]>;
  /** Returns the types of the values at a path. `JSON.TYPE key [path]` */
  jsonType(key: Key, ...path: Variadic): Promise<Nested>;
  /** Returns the values at a path in the form of the Redis protocol. `JSON.RESP key [path]` */
  jsonResp(key: Key, ...path: Variadic): Promise<Nested>;
  /** Reports how much memory values take. `JSON.DEBUG (MEMORY key) [path]` */
  jsonDebug(...more: Variadic<'MEMORY'>): Promise<Nested>;
  /** Increments the numbers at a path. `JSON.NUMINCRBY key path value` */
  jsonNumincrby(key: Key, path: Value, value: Numeric, options?: CallOptions): Promise<Nested>;
  /** Multiplies the numbers at a path. `JSON.NUMMULTBY key path value` */
  jsonNummultby(key: Key, path: Value, value: Numeric, options?: CallOptions): Promise<Nested>;
  /** Appends a string to the strings at a path. `JSON.STRAPPEND key [path] value` */
  jsonStrappend(key: Key, ...more: Variadic): Promise<Nested>;
  /** Returns the lengths of the strings at a path. `JSON.STRLEN key [path]` */
  jsonStrlen(key: Key, ...path: Variadic): Promise<Nested>;
  /** Makes true of false and false of true at a path. `JSON.TOGGLE key path` */
  jsonToggle(key: Key, path: Value, options?: CallOptions): Promise<Nested>;
  /** Returns the names in the objects at a path. `JSON.OBJKEYS key [path]` */
  jsonObjkeys(key: Key, ...path: Variadic): Promise<Nested>;
  /** Returns how many names the objects at a path have. `JSON.OBJLEN key [path]` */
  jsonObjlen(key: Key, ...path: Variadic): Promise<Nested>;
  /** Appends values to the arrays at a path. `JSON.ARRAPPEND key path value+` */
  jsonArrappend(key: Key, path: Value, ...values: Variadic): Promise<Nested>;
  /** Inserts values into the arrays at a path. `JSON.ARRINSERT key path index value+` */
  jsonArrinsert(key: Key, path: Value, index: Numeric, ...values: Variadic): Promise<Nested>;
  /**
   * Removes an element of the arrays at a path, and returns it. `JSON.ARRPOP key [path
   * [index]]`
   */
  jsonArrpop(key: Key, ...path: Variadic): Promise<Nested>;
  /**
   * Keeps only the elements from one to another of the arrays at a path. `JSON.ARRTRIM key path
   * start stop`
   */
  jsonArrtrim(
    key: Key,
    path: Value,
    start: Numeric,
    stop: Numeric,
    options?: CallOptions,
  ): Promise<Nested>;
  /** Returns the lengths of the arrays at a path. `JSON.ARRLEN key [path]` */
  jsonArrlen(key: Key, ...path: Variadic): Promise<Nested>;
  /**
   * Returns where a value is first found in the arrays at a path. `JSON.ARRINDEX key path value
   * [start [stop]]`
   */
  jsonArrindex(key: Key, path: Value, value: Value, ...range: Variadic): Promise<Nested>;
}
