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
    commands: 'BITCOUNT, BITPOS',
    differs: 'wrong arguments are refused also when the key is not there',
    reason: 'as Redis does from 7.2 on, which kvorum says it is',
  },
  {
    commands: 'SETBIT, BITFIELD',
    differs: 'a string cannot grow beyond value-bytes-max, 16 MiB by default (Redis: 512 MB)',
    reason: 'a value has to fit a log entry; APPEND and SETRANGE refuse the same way',
  },
  {
    commands: 'PFCOUNT',
    differs:
      'the cardinality it counted is not written into the sketch, whose bytes 8 to 15 GET shows, and its encoding does not become raw',
    reason: 'a read is not a log entry; counting takes less time than one',
  },
  {
    commands: 'PFADD of several elements, PFMERGE',
    differs: 'when the sketch turns out to be corrupt, none of the elements is in it (Redis: some)',
    reason: 'a write that fails leaves nothing behind',
  },
  {
    commands: 'PFADD',
    differs: 'a sparse sketch that ends within a run of two bytes is corrupt',
    reason: 'Redis reads and writes behind the end of its string there',
  },
];
