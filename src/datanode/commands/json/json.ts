/** All commands of JSON documents (redis.io, JSON). */
import type { Command } from '../rows/command.ts';
import { jsonArrayCommands } from './json-array.ts';
import { jsonGetCommands } from './json-get.ts';
import { jsonNumberCommands } from './json-number.ts';
import { jsonScalarCommands } from './json-scalar.ts';
import { jsonSetCommands } from './json-set.ts';

export const jsonCommands: readonly Command[] = [
  ...jsonSetCommands,
  ...jsonGetCommands,
  ...jsonNumberCommands,
  ...jsonScalarCommands,
  ...jsonArrayCommands,
];
