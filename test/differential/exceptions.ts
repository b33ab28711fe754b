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
];
