/**
 * Where kvorum means to answer otherwise than redis-server does, and why. The generators of this
 * folder stay clear of these; whoever adds one says here what it is.
 */
export interface Exception {
  readonly commands: string;
  readonly differs: string;
  readonly reason: string;
}

export const exceptions: readonly Exception[] = [
  {
    commands: 'EXPIRE, PEXPIRE, SET EX and all that set a deadline',
    differs: 'a deadline beyond 2^53 ms after 1970 (the year 287,396) is cut to that',
    reason: 'times are numbers here and in every record; nobody lives to see the difference',
  },
  {
    commands: 'all that answer a score',
    differs: 'scores have the fewest digits that read back: 0.1, not 0.10000000000000001',
    reason: 'as Redis prints them from 7.2 on, which kvorum says it is; 7.0 has 17 digits',
  },
  {
    commands: 'ZRANK, ZREVRANK',
    differs: 'they take WITHSCORE',
    reason: 'as Redis does from 7.2 on',
  },
  {
    commands: 'ZRANGEBYLEX, ZLEXCOUNT, ZREMRANGEBYLEX and all ranges of members',
    differs: 'where scores differ in a skiplist, what is in the range',
    reason: 'undefined by its page, and random in Redis; here it is what a listpack gives',
  },
  {
    commands: 'ZRANDMEMBER',
    differs: 'more than 10,000,000 members with repeats are refused as out of range',
    reason: 'the reply is built in memory, which is bounded',
  },
];
