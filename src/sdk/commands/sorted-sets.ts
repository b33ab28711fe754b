/** Written from the command table by test/sdk/command-generator.ts. */
import type { CallOptions, Key, Nested, Numeric, Value, Variadic, Word } from '../command-types.ts';

export interface SortedSetCommands {
  /**
   * Adds members to a sorted set, or changes their scores. Creates the key if absent. `ZADD key
   * [NX | XX] [GT | LT] [CH] [INCR] (score member)+`
   */
  zadd(
    key: Key,
    ...more: Variadic<'NX' | 'XX' | 'GT' | 'LT' | 'CH' | 'INCR'>
  ): Promise<number | string | null>;
  /**
   * Adds a number to the score of a member of a sorted set; an absent one has score 0. `ZINCRBY
   * key increment member`
   */
  zincrby(key: Key, increment: Numeric, member: Value, options?: CallOptions): Promise<string>;
  /** Removes members from a sorted set. Deletes the key with its last member. `ZREM key member+` */
  zrem(key: Key, ...members: Variadic): Promise<number>;
  /** Returns the number of members of a sorted set. `ZCARD key` */
  zcard(key: Key, options?: CallOptions): Promise<number>;
  /** Returns the score of a member of a sorted set. `ZSCORE key member` */
  zscore(key: Key, member: Value, options?: CallOptions): Promise<string | null>;
  /** Returns the scores of several members of a sorted set. `ZMSCORE key member+` */
  zmscore(key: Key, ...members: Variadic): Promise<readonly (string | null)[]>;
  /**
   * Returns how many members of a sorted set come before one, from the lowest score. `ZRANK key
   * member [WITHSCORE]`
   */
  zrank(
    key: Key,
    member: Value,
    ...withscore: Variadic<'WITHSCORE'>
  ): Promise<number | readonly [rank: number, score: string] | null>;
  /**
   * Returns how many members of a sorted set come before one, from the highest score. `ZREVRANK
   * key member [WITHSCORE]`
   */
  zrevrank(
    key: Key,
    member: Value,
    ...withscore: Variadic<'WITHSCORE'>
  ): Promise<number | readonly [rank: number, score: string] | null>;
  /** Counts the members of a sorted set with a score in a range. `ZCOUNT key min max` */
  zcount(key: Key, min: Numeric, max: Numeric, options?: CallOptions): Promise<number>;
  /** Counts the members of a sorted set in a range of members. `ZLEXCOUNT key min max` */
  zlexcount(key: Key, min: Value, max: Value, options?: CallOptions): Promise<number>;
  /**
   * Returns members of a sorted set in a range of ranks. `ZRANGE key start stop [BYSCORE |
   * BYLEX] [REV] [LIMIT offset count] [WITHSCORES]`
   */
  zrange(
    key: Key,
    start: Value,
    stop: Value,
    ...more: Variadic<'BYSCORE' | 'BYLEX' | 'REV' | 'LIMIT' | 'WITHSCORES'>
  ): Promise<readonly string[]>;
  /**
   * Returns members in a range of ranks, highest score first. `ZREVRANGE key start stop
   * [WITHSCORES]`
   */
  zrevrange(
    key: Key,
    start: Numeric,
    stop: Numeric,
    ...withscores: Variadic<'WITHSCORES'>
  ): Promise<readonly string[]>;
  /**
   * Returns members in a range of scores. `ZRANGEBYSCORE key min max [WITHSCORES] [LIMIT offset
   * count]`
   */
  zrangebyscore(
    key: Key,
    min: Numeric,
    max: Numeric,
    ...more: Variadic<'WITHSCORES' | 'LIMIT'>
  ): Promise<readonly string[]>;
  /**
   * Returns members in a range of scores, highest first. `ZREVRANGEBYSCORE key max min
   * [WITHSCORES] [LIMIT offset count]`
   */
  zrevrangebyscore(
    key: Key,
    max: Numeric,
    min: Numeric,
    ...more: Variadic<'WITHSCORES' | 'LIMIT'>
  ): Promise<readonly string[]>;
  /** Returns members in a range of members. `ZRANGEBYLEX key min max [LIMIT offset count]` */
  zrangebylex(
    key: Key,
    min: Value,
    max: Value,
    ...limit: Variadic<'LIMIT'>
  ): Promise<readonly string[]>;
  /**
   * Returns members in a range of members, last first. `ZREVRANGEBYLEX key max min [LIMIT
   * offset count]`
   */
  zrevrangebylex(
    key: Key,
    max: Value,
    min: Value,
    ...limit: Variadic<'LIMIT'>
  ): Promise<readonly string[]>;
  /**
   * Stores a range of members of a sorted set in another key. `ZRANGESTORE destination source
   * min max [BYSCORE | BYLEX] [REV] [LIMIT offset count]`
   */
  zrangestore(
    destination: Key,
    source: Key,
    min: Value,
    max: Value,
    ...more: Variadic<'BYSCORE' | 'BYLEX' | 'REV' | 'LIMIT'>
  ): Promise<number>;
  /** Removes members of a sorted set in a range of ranks. `ZREMRANGEBYRANK key start stop` */
  zremrangebyrank(key: Key, start: Numeric, stop: Numeric, options?: CallOptions): Promise<number>;
  /** Removes members of a sorted set in a range of scores. `ZREMRANGEBYSCORE key min max` */
  zremrangebyscore(key: Key, min: Numeric, max: Numeric, options?: CallOptions): Promise<number>;
  /** Removes members of a sorted set in a range of members. `ZREMRANGEBYLEX key min max` */
  zremrangebylex(key: Key, min: Value, max: Value, options?: CallOptions): Promise<number>;
  /**
   * Removes and returns the members of a sorted set with the lowest scores. `ZPOPMIN key
   * [count]`
   */
  zpopmin(key: Key, ...count: Variadic): Promise<readonly string[]>;
  /**
   * Removes and returns the members of a sorted set with the highest scores. `ZPOPMAX key
   * [count]`
   */
  zpopmax(key: Key, ...count: Variadic): Promise<readonly string[]>;
  /**
   * Removes and returns members of the first sorted set that is not empty. `ZMPOP numkeys key+
   * (MIN | MAX) [COUNT count]`
   */
  zmpop(
    numkeys: Numeric,
    ...more: Variadic<'MIN' | 'MAX' | 'COUNT'>
  ): Promise<readonly [key: string, members: readonly (readonly string[])[]] | null>;
  /**
   * Removes the member with the lowest score of a sorted set, and waits for one. `BZPOPMIN key+
   * timeout`
   */
  bzpopmin(
    ...more: Variadic
  ): Promise<readonly [key: string, member: string, score: string] | null>;
  /**
   * Removes the member with the highest score of a sorted set, and waits for one. `BZPOPMAX
   * key+ timeout`
   */
  bzpopmax(
    ...more: Variadic
  ): Promise<readonly [key: string, member: string, score: string] | null>;
  /**
   * Removes members of the first sorted set that has any, and waits for one. `BZMPOP timeout
   * numkeys key+ (MIN | MAX) [COUNT count]`
   */
  bzmpop(
    timeout: Numeric,
    numkeys: Numeric,
    ...more: Variadic<'MIN' | 'MAX' | 'COUNT'>
  ): Promise<readonly [key: string, members: readonly (readonly string[])[]] | null>;
  /** Returns one or more random members of a sorted set. `ZRANDMEMBER key [count [WITHSCORES]]` */
  zrandmember(
    key: Key,
    ...options: Variadic<'WITHSCORES'>
  ): Promise<string | readonly string[] | null>;
  /**
   * Iterates over members and scores of a sorted set. `ZSCAN key cursor [MATCH pattern] [COUNT
   * count]`
   */
  zscan(
    key: Key,
    cursor: Numeric,
    ...more: Variadic<'MATCH' | 'COUNT'>
  ): Promise<readonly [cursor: string, found: readonly string[]]>;
  /**
   * Returns the union of sorted sets. `ZUNION numkeys key+ [WEIGHTS weight+] [AGGREGATE (SUM |
   * MIN | MAX)] [WITHSCORES]`
   */
  zunion(
    numkeys: Numeric,
    ...more: Variadic<'WEIGHTS' | 'AGGREGATE' | 'SUM' | 'MIN' | 'MAX' | 'WITHSCORES'>
  ): Promise<readonly string[]>;
  /**
   * Returns the intersection of sorted sets. `ZINTER numkeys key+ [WEIGHTS weight+] [AGGREGATE
   * (SUM | MIN | MAX)] [WITHSCORES]`
   */
  zinter(
    numkeys: Numeric,
    ...more: Variadic<'WEIGHTS' | 'AGGREGATE' | 'SUM' | 'MIN' | 'MAX' | 'WITHSCORES'>
  ): Promise<readonly string[]>;
  /**
   * Returns the difference between the first sorted set and others. `ZDIFF numkeys key+
   * [WITHSCORES]`
   */
  zdiff(numkeys: Numeric, ...more: Variadic<'WITHSCORES'>): Promise<readonly string[]>;
  /**
   * Stores the union of sorted sets in a key. `ZUNIONSTORE destination numkeys key+ [WEIGHTS
   * weight+] [AGGREGATE (SUM | MIN | MAX)]`
   */
  zunionstore(
    destination: Key,
    numkeys: Numeric,
    ...more: Variadic<'WEIGHTS' | 'AGGREGATE' | 'SUM' | 'MIN' | 'MAX'>
  ): Promise<number>;
  /**
   * Stores the intersection of sorted sets in a key. `ZINTERSTORE destination numkeys key+
   * [WEIGHTS weight+] [AGGREGATE (SUM | MIN | MAX)]`
   */
  zinterstore(
    destination: Key,
    numkeys: Numeric,
    ...more: Variadic<'WEIGHTS' | 'AGGREGATE' | 'SUM' | 'MIN' | 'MAX'>
  ): Promise<number>;
  /** Stores the difference of sorted sets in a key. `ZDIFFSTORE destination numkeys key+` */
  zdiffstore(destination: Key, numkeys: Numeric, ...keys: Variadic): Promise<number>;
  /**
   * Returns how many members the intersection of sorted sets has. `ZINTERCARD numkeys key+
   * [LIMIT limit]`
   */
  zintercard(numkeys: Numeric, ...more: Variadic<'LIMIT'>): Promise<number>;
  /**
   * Adds members with longitude and latitude to a geospatial index, a sorted set. `GEOADD key
   * [NX | XX] [CH] (longitude latitude member)+`
   */
  geoadd(key: Key, ...more: Variadic<'NX' | 'XX' | 'CH'>): Promise<number>;
  /**
   * Returns the distance between two members of a geospatial index. `GEODIST key member1
   * member2 [M | KM | FT | MI]`
   */
  geodist(
    key: Key,
    member1: Value,
    member2: Value,
    ...unit: Variadic<'M' | 'KM' | 'FT' | 'MI'>
  ): Promise<string | null>;
  /** Returns members of a geospatial index as geohash strings. `GEOHASH key [member]*` */
  geohash(key: Key, ...members: Variadic): Promise<readonly (string | null)[]>;
  /** Returns the longitude and latitude of members of a geospatial index. `GEOPOS key [member]*` */
  geopos(
    key: Key,
    ...members: Variadic
  ): Promise<readonly (readonly [longitude: string, latitude: string] | null)[]>;
  /**
   * Returns members of a geospatial index in a circle or a box. `GEOSEARCH key (FROMMEMBER
   * member | FROMLONLAT longitude latitude) (BYRADIUS radius (M | KM | FT | MI) | BYBOX width
   * height (M | KM | FT | MI)) [ASC | DESC] [COUNT count [ANY]] [WITHCOORD] [WITHDIST]
   * [WITHHASH]`
   */
  geosearch(
    key: Key,
    ...more: Variadic<
      | 'FROMMEMBER'
      | 'FROMLONLAT'
      | 'BYRADIUS'
      | 'M'
      | 'KM'
      | 'FT'
      | 'MI'
      | 'BYBOX'
      | 'ASC'
      | 'DESC'
      | 'COUNT'
      | 'ANY'
      | 'WITHCOORD'
      | 'WITHDIST'
      | 'WITHHASH'
    >
  ): Promise<readonly Nested[]>;
  /**
   * Stores members of a geospatial index in a circle or a box in another key. `GEOSEARCHSTORE
   * destination source (FROMMEMBER member | FROMLONLAT longitude latitude) (BYRADIUS radius (M
   * | KM | FT | MI) | BYBOX width height (M | KM | FT | MI)) [ASC | DESC] [COUNT count [ANY]]
   * [STOREDIST]`
   */
  geosearchstore(
    destination: Key,
    source: Key,
    ...more: Variadic<
      | 'FROMMEMBER'
      | 'FROMLONLAT'
      | 'BYRADIUS'
      | 'M'
      | 'KM'
      | 'FT'
      | 'MI'
      | 'BYBOX'
      | 'ASC'
      | 'DESC'
      | 'COUNT'
      | 'ANY'
      | 'STOREDIST'
    >
  ): Promise<number>;
  /**
   * Returns or stores members of a geospatial index within a distance of a point. `GEORADIUS
   * key longitude latitude radius (M | KM | FT | MI) [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT
   * count [ANY]] [ASC | DESC] [STORE destination | STOREDIST destination]`
   */
  georadius(
    key: Key,
    longitude: Numeric,
    latitude: Numeric,
    radius: Numeric,
    unit: Word<'M' | 'KM' | 'FT' | 'MI'>,
    ...more: Variadic<
      | 'WITHCOORD'
      | 'WITHDIST'
      | 'WITHHASH'
      | 'COUNT'
      | 'ANY'
      | 'ASC'
      | 'DESC'
      | 'STORE'
      | 'STOREDIST'
    >
  ): Promise<number | readonly Nested[]>;
  /**
   * Returns or stores members of a geospatial index within a distance of a member.
   * `GEORADIUSBYMEMBER key member radius (M | KM | FT | MI) [WITHCOORD] [WITHDIST] [WITHHASH]
   * [COUNT count [ANY]] [ASC | DESC] [STORE destination | STOREDIST destination]`
   */
  georadiusbymember(
    key: Key,
    member: Value,
    radius: Numeric,
    unit: Word<'M' | 'KM' | 'FT' | 'MI'>,
    ...more: Variadic<
      | 'WITHCOORD'
      | 'WITHDIST'
      | 'WITHHASH'
      | 'COUNT'
      | 'ANY'
      | 'ASC'
      | 'DESC'
      | 'STORE'
      | 'STOREDIST'
    >
  ): Promise<number | readonly Nested[]>;
  /**
   * Returns members of a geospatial index within a distance of a point. `GEORADIUS_RO key
   * longitude latitude radius (M | KM | FT | MI) [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count
   * [ANY]] [ASC | DESC]`
   */
  georadius_ro(
    key: Key,
    longitude: Numeric,
    latitude: Numeric,
    radius: Numeric,
    unit: Word<'M' | 'KM' | 'FT' | 'MI'>,
    ...more: Variadic<'WITHCOORD' | 'WITHDIST' | 'WITHHASH' | 'COUNT' | 'ANY' | 'ASC' | 'DESC'>
  ): Promise<readonly Nested[]>;
  /**
   * Returns members of a geospatial index within a distance of a member. `GEORADIUSBYMEMBER_RO
   * key member radius (M | KM | FT | MI) [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]]
   * [ASC | DESC]`
   */
  georadiusbymember_ro(
    key: Key,
    member: Value,
    radius: Numeric,
    unit: Word<'M' | 'KM' | 'FT' | 'MI'>,
    ...more: Variadic<'WITHCOORD' | 'WITHDIST' | 'WITHHASH' | 'COUNT' | 'ANY' | 'ASC' | 'DESC'>
  ): Promise<readonly Nested[]>;
}
