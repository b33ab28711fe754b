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
];
