/** Words that commands of streams are made of. */
import fc from 'fast-check';

/** For XSETID: one that is below what was deleted is refused from 7.2 on. */
export const LAST_OF_ALL = '18446744073709551615-18446744073709551615';

/** Few and small, so that they meet: the last ones there are, none there can be, and no IDs. */
export const id = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.tuple(fc.nat(3), fc.nat(4)).map(([ms, sequence]) => `${ms}-${sequence}`),
  },
  { weight: 3, arbitrary: fc.nat(4).map(String) },
  fc.constantFrom(
    LAST_OF_ALL,
    '18446744073709551615-18446744073709551614',
    '1-18446744073709551615',
    '01-1',
    '+2-1',
    '1-01',
    '2--01',
    '1-1-1',
    '5-',
    '-5',
    '-',
    '+',
    '',
    '99999999999999999999-1',
    'nonsense',
  ),
);
