/** Which keys a line of XREAD or XREADGROUP names. */
import { expect, test } from 'vitest';
import { keysOf } from '../../../../src/datanode/commands/rows/command.ts';
import { findCommand } from '../../../../src/datanode/commands/table/table.ts';

// who is asked for a key must be who reads it: routes and access lists go by the former
test.each([
  ['XREAD', 'STREAMS\0x', 's', '0'],
  ['XREAD', 'COUNT\0', '1', 'BLOCK\0\0', '5', 'streams', 's', '0'],
  ['XREAD', 'count', 'streams', 'streams', 's', '0'],
  ['XREADGROUP', 'GROUP\0', 'g', 'streams', 'NOACK\0y', 'STREAMS\0x', 's', '>'],
])('%j names the key it reads', (...line) => {
  const args = line.map((word) => Buffer.from(word));
  const keys = keysOf(findCommand(args[0]!)!, args);
  expect(keys.map(String)).toEqual(['s']);
});

test.each(['constructor', '__proto__', 'toString', ''])('%j is no option', (option) => {
  const args = ['XREAD', option, 'STREAMS', 's', '0'].map((word) => Buffer.from(word));
  expect(keysOf(findCommand(args[0]!)!, args)).toEqual([]);
});
