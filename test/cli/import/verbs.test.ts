import { Command } from 'commander';
import { expect, test } from 'vitest';
import { addRestoreVerbs } from '../../../src/cli/import/verbs.ts';

async function restoring(...flags: readonly string[]): Promise<string> {
  const program = new Command().exitOverride().configureOutput({ writeErr: () => {} });
  addRestoreVerbs(program);
  for (const one of program.commands) one.copyInheritedSettings(program);
  return program.parseAsync(['restore', '/nonexistent', ...flags], { from: 'user' }).then(
    () => 'done',
    (failure: Error) => failure.message,
  );
}

test.each(['--parallel', '--partitions', '--replicas'])(
  'a restore with %s 0 is refused',
  async (flag) => {
    expect(await restoring(flag, '0')).toContain('must be 1 or more.');
    expect(await restoring(flag, '1')).toMatch(/is no backup/);
  },
);
