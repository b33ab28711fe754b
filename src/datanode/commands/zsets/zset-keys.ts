/** `numkeys key [key ...]`: the keys of commands that say how many they have. */
import { parseInteger } from '../../encoding/strings/string.ts';

/** `at`: where the number is. Those before it are keys too; wrong numbers name none. */
export function countedKeys(at: number): (args: readonly Buffer[]) => readonly Buffer[] {
  return (args) => {
    const count = args[at] && parseInteger(args[at]);
    const known = args.slice(1, at);
    if (typeof count !== 'number' || count < 1 || at + count >= args.length) return known;
    return [...known, ...args.slice(at + 1, at + 1 + count)];
  };
}
