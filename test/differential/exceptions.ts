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
  {
    commands: 'RESTORE',
    differs:
      'a small hash with a field twice, a packed form that is not sound as a whole, and bytes behind the value are bad data',
    reason:
      'Redis checks that only with sanitize-dump-payload; unsound elements cannot be stored here',
  },
  {
    commands: 'RESTORE',
    differs:
      'a value beyond 60 MiB or 1,048,576 elements is refused, payloads of version 11 are taken',
    reason: 'no other request may carry more either; version 11 is that of Redis 7.2',
  },
  {
    commands: 'DUMP',
    differs: 'the bytes: version 9, types 0, 1, 2, 4 and 5, neither compressed nor integer-encoded',
    reason: 'any Redis from 5.0 on restores them',
  },
  {
    commands: 'OBJECT REFCOUNT',
    differs: 'the copy that COPY makes of an integer below 10,000 counts as shared (Redis: 1)',
    reason: 'nothing is shared here: the number only tells what Redis would share when it is set',
  },
  {
    commands: 'OBJECT IDLETIME',
    differs: 'it is 0, whatever RESTORE IDLETIME said',
    reason: 'reads write nothing here, so nobody knows when a key was last read',
  },
];
