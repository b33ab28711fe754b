/** MONITOR: every command of this node's clients, as it comes, until RESET or the end. */
import type { Command } from '../rows/command.ts';
import { serverRow } from '../rows/server-row.ts';

export const monitorCommands: readonly Command[] = [
  serverRow(
    'monitor',
    1,
    ['admin', 'noscript', 'loading', 'stale'],
    '1.0.0',
    "Sends every command of this node's clients.",
    (_args, { watch, session }) => watch.startMonitor(session),
  ),
];
