/** `--data`, of every verb that has one. */
import { InvalidArgumentError } from 'commander';

/** Refuses an empty one (a variable of a script that is not set): it would be the current directory. */
export function dataDirectory(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('must name a directory; without --data it is kvorum-data.');
}
