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
    commands: 'OBJECT ENCODING of a set with a member that is no integer',
    differs: 'listpack while the set is small, where Redis 7.0 says hashtable',
    reason: 'Redis 7.2, whose version INFO tells, has that encoding',
  },
  {
    commands: 'HSCAN, SSCAN of a hashtable with a cursor other than 0',
    differs: 'cursors are positions in the order of our hash',
    reason: 'a cursor means something only to the server that gave it',
  },
  {
    commands: 'HRANDFIELD, SRANDMEMBER with a negative count',
    differs: 'an error below −10,000,000, and where the reply would exceed the output bound',
    reason: 'Redis builds such a reply until its memory ends',
  },
];
