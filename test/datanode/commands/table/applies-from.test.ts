/** Of which apply version entries are that hold a command. */
import { expect, it } from 'vitest';
import { newestIn } from '../../../../src/datanode/commands/table/applies-from.ts';
import { commandTable } from '../../../../src/datanode/commands/table/table.ts';

it('is, of a subcommand, what its row says: its container is what is looked up', () => {
  const newer: string[] = [];
  for (const { subcommands = [] } of commandTable.values()) {
    for (const { kind, name, appliesFrom } of subcommands) {
      if (kind !== 'write' || appliesFrom === undefined) continue;
      const words = name.split('|').map((word) => Buffer.from(word));
      newer.push(name);
      expect([name, newestIn(words).version]).toEqual([name, appliesFrom(words)]);
    }
  }
  expect(newer).toEqual(
    expect.arrayContaining(['script|load', 'xgroup|create', 'function|load', 'function|restore']),
  );
});
