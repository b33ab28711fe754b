import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../src/common/random.ts';
import { commandTable, resolveCommand } from '../../src/datanode/commands/table/table.ts';
import {
  drawnElsewhere,
  drawRead,
  drawWrite,
  readCommands,
  writeCommands,
} from './commands/all.ts';
import { Draw, type Line } from './commands/draw.ts';

const rows = [...commandTable.values()].flatMap((row) => [row, ...(row.subcommands ?? [])]);

function drawn(count: number, one: (draw: Draw) => Line): Line[] {
  const draw = new Draw(seededRandom('commands'), () => 1_700_000_000_000);
  return Array.from({ length: count }, () => {
    draw.turn();
    return one(draw);
  });
}

const argsOf = (line: Line) => line.map((word) => Buffer.from(word as string));

describe('the commands drawn', () => {
  test.each(['write', 'read'] as const)('are all that %s keys', (kind) => {
    const known: Readonly<Record<string, unknown>> =
      kind === 'write' ? writeCommands : readCommands;
    const missing = rows.filter(
      ({ name, kind: of }) => of === kind && !(name in known) && !(name in drawnElsewhere),
    );
    expect(missing.map(({ name }) => name)).toEqual([]);
  });

  test('have a row each, as do those drawn elsewhere', () => {
    const names = new Set(rows.map(({ name }) => name));
    const named = [writeCommands, readCommands, drawnElsewhere].flatMap((table) =>
      Object.keys(table),
    );
    expect(named.filter((name) => !names.has(name))).toEqual([]);
  });

  test.each([
    ['writes', drawWrite, writeCommands],
    ['reads', drawRead, readCommands],
  ] as const)('are drawn again and again, and well formed: %s', (_, draw, table) => {
    const formed = new Map(Object.keys(table).map((name) => [name, { all: 0, good: 0 }]));
    for (const line of drawn(20_000, draw)) {
      const command = resolveCommand(argsOf(line));
      const count = formed.get(String(line[0]).toLowerCase())!;
      count.all++;
      if (command && command.kind !== 'node' && command.prepare(argsOf(line)).ok) count.good++;
    }
    const poor = [...formed].filter(([, { all, good }]) => all < 50 || good < all * 0.7);
    expect(poor).toEqual([]);
  });
});
