/** Written from the command table by test/sdk/command-generator.ts. */
import type { CallOptions, Nested, Numeric, Value, Variadic, Word } from '../command-types.ts';

export interface ServerCommands {
  /**
   * A container for memory diagnostics commands. `MEMORY USAGE | DOCTOR | MALLOC-STATS | PURGE
   * | STATS | HELP`
   */
  memory(
    subcommand: Word<'USAGE' | 'DOCTOR' | 'MALLOC-STATS' | 'PURGE' | 'STATS' | 'HELP'>,
    ...more: Variadic
  ): Promise<Nested>;
  /** Returns the number of keys in the database. `DBSIZE` */
  dbsize(options?: CallOptions): Promise<number>;
  /** Removes all keys of the namespace. `FLUSHALL [ASYNC | SYNC]` */
  flushall(...type: Variadic<'ASYNC' | 'SYNC'>): Promise<'OK'>;
  /** Removes all keys of the namespace. `FLUSHDB [ASYNC | SYNC]` */
  flushdb(...type: Variadic<'ASYNC' | 'SYNC'>): Promise<'OK'>;
  /** Runs a script. `EVAL script numkeys [key]* [arg]*` */
  eval(script: Value, numkeys: Numeric, ...more: Variadic): Promise<Nested>;
  /** Runs a script that is kept. `EVALSHA sha1 numkeys [key]* [arg]*` */
  evalsha(sha1: Value, numkeys: Numeric, ...more: Variadic): Promise<Nested>;
  /** Runs a script that only reads. `EVAL_RO script numkeys [key]* [arg]*` */
  eval_ro(script: Value, numkeys: Numeric, ...more: Variadic): Promise<Nested>;
  /** Runs a script that is kept and only reads. `EVALSHA_RO sha1 numkeys [key]* [arg]*` */
  evalsha_ro(sha1: Value, numkeys: Numeric, ...more: Variadic): Promise<Nested>;
  /**
   * A container for commands about scripts that are kept. `SCRIPT LOAD | EXISTS | FLUSH | KILL
   * | DEBUG | HELP`
   */
  script(
    subcommand: Word<'LOAD' | 'EXISTS' | 'FLUSH' | 'KILL' | 'DEBUG' | 'HELP'>,
    ...more: Variadic
  ): Promise<Nested>;
  /** Calls a function. `FCALL function numkeys [key]* [arg]*` */
  fcall(functionName: Value, numkeys: Numeric, ...more: Variadic): Promise<Nested>;
  /** Calls a function that only reads. `FCALL_RO function numkeys [key]* [arg]*` */
  fcall_ro(functionName: Value, numkeys: Numeric, ...more: Variadic): Promise<Nested>;
  /**
   * A container for commands about libraries of functions. `FUNCTION LOAD | DELETE | FLUSH |
   * RESTORE | LIST | DUMP | STATS | KILL | HELP`
   */
  function(
    subcommand: Word<
      'LOAD' | 'DELETE' | 'FLUSH' | 'RESTORE' | 'LIST' | 'DUMP' | 'STATS' | 'KILL' | 'HELP'
    >,
    ...more: Variadic
  ): Promise<Nested>;
  /** Returns the server's liveliness response. `PING [message]` */
  ping(...message: Variadic): Promise<string>;
  /** Returns the given string. `ECHO message` */
  echo(message: Value, options?: CallOptions): Promise<string>;
  /**
   * A container for client connection commands. `CLIENT ID | GETNAME | SETNAME | SETINFO | INFO
   * | LIST | KILL | REPLY | NO-EVICT | NO-TOUCH | GETREDIR | MAINT_NOTIFICATIONS | TRACKING |
   * TRACKINGINFO | CACHING | PAUSE | UNPAUSE | UNBLOCK | HELP`
   */
  client(
    subcommand: Word<
      | 'ID'
      | 'GETNAME'
      | 'SETNAME'
      | 'SETINFO'
      | 'INFO'
      | 'LIST'
      | 'KILL'
      | 'REPLY'
      | 'NO-EVICT'
      | 'NO-TOUCH'
      | 'GETREDIR'
      | 'MAINT_NOTIFICATIONS'
      | 'TRACKING'
      | 'TRACKINGINFO'
      | 'CACHING'
      | 'PAUSE'
      | 'UNPAUSE'
      | 'UNBLOCK'
      | 'HELP'
    >,
    ...more: Variadic
  ): Promise<Nested>;
  /**
   * A container for cluster commands. `CLUSTER INFO | NODES | SLOTS | SHARDS | MYID | MYSHARDID
   * | KEYSLOT | COUNTKEYSINSLOT | GETKEYSINSLOT | REPLICAS | SLAVES | LINKS |
   * COUNT-FAILURE-REPORTS | ADDSLOTS | ADDSLOTSRANGE | BUMPEPOCH | DELSLOTS | DELSLOTSRANGE |
   * FAILOVER | FLUSHSLOTS | FORGET | MEET | REPLICATE | RESET | SAVECONFIG | SET-CONFIG-EPOCH |
   * SETSLOT | HELP`
   */
  cluster(
    subcommand: Word<
      | 'INFO'
      | 'NODES'
      | 'SLOTS'
      | 'SHARDS'
      | 'MYID'
      | 'MYSHARDID'
      | 'KEYSLOT'
      | 'COUNTKEYSINSLOT'
      | 'GETKEYSINSLOT'
      | 'REPLICAS'
      | 'SLAVES'
      | 'LINKS'
      | 'COUNT-FAILURE-REPORTS'
      | 'ADDSLOTS'
      | 'ADDSLOTSRANGE'
      | 'BUMPEPOCH'
      | 'DELSLOTS'
      | 'DELSLOTSRANGE'
      | 'FAILOVER'
      | 'FLUSHSLOTS'
      | 'FORGET'
      | 'MEET'
      | 'REPLICATE'
      | 'RESET'
      | 'SAVECONFIG'
      | 'SET-CONFIG-EPOCH'
      | 'SETSLOT'
      | 'HELP'
    >,
    ...more: Variadic
  ): Promise<Nested>;
  /** Sends a message to a channel. `PUBLISH channel message` */
  publish(channel: Value, message: Value, options?: CallOptions): Promise<number>;
  /** Sends a message to a shard channel. `SPUBLISH shardchannel message` */
  spublish(shardchannel: Value, message: Value, options?: CallOptions): Promise<number>;
  /**
   * A container for commands about channels. `PUBSUB CHANNELS | NUMSUB | NUMPAT | SHARDCHANNELS
   * | SHARDNUMSUB | HELP`
   */
  pubsub(
    subcommand: Word<'CHANNELS' | 'NUMSUB' | 'NUMPAT' | 'SHARDCHANNELS' | 'SHARDNUMSUB' | 'HELP'>,
    ...more: Variadic
  ): Promise<Nested>;
  /**
   * Returns information about all commands. `COMMAND COUNT | DOCS | INFO | LIST | GETKEYS |
   * GETKEYSANDFLAGS | HELP`
   */
  command(
    subcommand?: Word<'COUNT' | 'DOCS' | 'INFO' | 'LIST' | 'GETKEYS' | 'GETKEYSANDFLAGS' | 'HELP'>,
    ...more: Variadic
  ): Promise<readonly Nested[]>;
  /**
   * A container for server configuration commands. `CONFIG GET | SET | RESETSTAT | REWRITE |
   * HELP`
   */
  config(
    subcommand: Word<'GET' | 'SET' | 'RESETSTAT' | 'REWRITE' | 'HELP'>,
    ...more: Variadic
  ): Promise<Nested>;
  /** A container for module commands. `MODULE LIST | HELP` */
  module(subcommand: Word<'LIST' | 'HELP'>, ...more: Variadic): Promise<Nested>;
  /** Returns information and statistics about the server. `INFO [section]*` */
  info(...sections: Variadic): Promise<string>;
  /** Returns the server time. `TIME` */
  time(options?: CallOptions): Promise<readonly [seconds: string, microseconds: string]>;
  /** Draws something. `LOLWUT [VERSION version]` */
  lolwut(...version: Variadic<'VERSION'>): Promise<string>;
  /** Returns the role: every node takes every command. `ROLE` */
  role(options?: CallOptions): Promise<readonly Nested[]>;
  /** Returns now: every write is durable. `LASTSAVE` */
  lastsave(options?: CallOptions): Promise<number>;
  /** OK: every write is durable. `SAVE` */
  save(options?: CallOptions): Promise<'OK'>;
  /** Accepted: every write is durable. `BGSAVE [SCHEDULE]` */
  bgsave(...schedule: Variadic<'SCHEDULE'>): Promise<string>;
  /** Accepted: the log is compacted by itself. `BGREWRITEAOF` */
  bgrewriteaof(options?: CallOptions): Promise<string>;
  /**
   * Refused: processes are stopped where they were started. `SHUTDOWN [NOSAVE | SAVE] [NOW]
   * [FORCE] [ABORT]`
   */
  shutdown(...more: Variadic<'NOSAVE' | 'SAVE' | 'NOW' | 'FORCE' | 'ABORT'>): Promise<string>;
  /**
   * A container for debugging commands. `DEBUG OBJECT | SLEEP | SET-ACTIVE-EXPIRE | WITNESS |
   * HELP`
   */
  debug(
    subcommand: Word<'OBJECT' | 'SLEEP' | 'SET-ACTIVE-EXPIRE' | 'WITNESS' | 'HELP'>,
    ...more: Variadic
  ): Promise<Nested>;
  /**
   * A container for latency diagnostics. `LATENCY LATEST | HISTORY | RESET | GRAPH | DOCTOR |
   * HISTOGRAM | HELP`
   */
  latency(
    subcommand: Word<'LATEST' | 'HISTORY' | 'RESET' | 'GRAPH' | 'DOCTOR' | 'HISTOGRAM' | 'HELP'>,
    ...more: Variadic
  ): Promise<Nested>;
  /** A container for slow log commands. `SLOWLOG GET | LEN | RESET | HELP` */
  slowlog(subcommand: Word<'GET' | 'LEN' | 'RESET' | 'HELP'>, ...more: Variadic): Promise<Nested>;
  /** Refused: namespaces are not swapped. `SWAPDB index1 index2` */
  swapdb(index1: Numeric, index2: Numeric, options?: CallOptions): Promise<'OK'>;
  /**
   * A container for commands about users. `ACL CAT | DELUSER | DRYRUN | GENPASS | GETUSER |
   * LIST | LOAD | LOG | SAVE | SETUSER | USERS | WHOAMI | HELP`
   */
  acl(
    subcommand: Word<
      | 'CAT'
      | 'DELUSER'
      | 'DRYRUN'
      | 'GENPASS'
      | 'GETUSER'
      | 'LIST'
      | 'LOAD'
      | 'LOG'
      | 'SAVE'
      | 'SETUSER'
      | 'USERS'
      | 'WHOAMI'
      | 'HELP'
    >,
    ...more: Variadic
  ): Promise<Nested>;
}
