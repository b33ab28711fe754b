import { describe, expect, it } from 'vitest';
import { NameTable } from '../../../../src/datanode/commands/table/name-table.ts';
import { commandTable, findCommand } from '../../../../src/datanode/commands/table/table.ts';

const table = new NameTable([
  ['get', 1],
  ['set', 2],
  ['kv.once', 3],
  ['with_line', 4],
]);

describe('rows by name', () => {
  it('are found in any case', () => {
    for (const name of ['get', 'GET', 'gEt']) expect(table.find(Buffer.from(name))).toBe(1);
    expect(table.find(Buffer.from('KV.Once'))).toBe(3);
    expect(table.find(Buffer.from('WITH_LINE'))).toBe(4);
  });

  it('are not found by other bytes, those that differ in one bit included', () => {
    for (const name of [
      '',
      'ge',
      'gett',
      'g\x45\x54\x00',
      'kv\x0eonce',
      'with\x7fline',
      '\u00e7et',
    ]) {
      expect(table.find(Buffer.from(name, 'latin1'))).toBeUndefined();
    }
    expect(table.find(Buffer.alloc(1_000_000, 'g'))).toBeUndefined();
  });

  it('are told apart where their hashes are equal', () => {
    // 31 * 'a' + 'z' is 31 * 'b' + '['
    const equal = new NameTable([
      ['az', 1],
      ['b[', 2],
    ]);
    expect(equal.find(Buffer.from('AZ'))).toBe(1);
    expect(equal.find(Buffer.from('B['))).toBe(2);
  });

  it('are those of the whole command table', () => {
    for (const [name, row] of commandTable) {
      expect(findCommand(Buffer.from(name))).toBe(row);
      expect(findCommand(Buffer.from(name.toUpperCase()))).toBe(row);
    }
  });
});
