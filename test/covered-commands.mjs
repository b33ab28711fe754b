/**
 * The last step of a whole test run: every row of the command table ran in it. Arguments: the
 * folder of `sent-commands.ts`. Plain JavaScript over the built product, as `run.mjs` is.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandTable } from '../dist/datanode/commands/table/table.js';

const folder = process.argv[2];
const sent = new Set(
  readdirSync(folder).flatMap((name) =>
    readFileSync(join(folder, name), 'utf8').trim().split('\n'),
  ),
);
const rows = [...commandTable.values()].flatMap(({ name, subcommands }) =>
  subcommands ? subcommands.map((row) => row.name) : [name],
);
const missing = rows.filter((row) => !sent.has(row));
process.stdout.write(`${rows.length - missing.length} of ${rows.length} commands ran\n`);
for (const row of missing) process.stdout.write(`no test ran ${row}\n`);
process.exit(missing.length === 0 ? 0 : 1);
