/** A command's arguments as SLOWLOG and MONITOR show them: cut to bounds, and without secrets. */
import { limits } from '../../common/limits.ts';

const REDACTED = Buffer.from('(redacted)');

/** Of these, which arguments must not be seen by who looks at other clients' commands. */
const secrets: ReadonlyMap<string, (args: readonly Buffer[]) => (at: number) => boolean> = new Map([
  ['auth', () => () => true],
  ['hello', helloSecrets],
  ['acl|setuser', () => (at) => at > 1],
  ['config|set', (args) => (at) => isWord(args[at - 1], 'requirepass')],
]);

function helloSecrets(args: readonly Buffer[]): (at: number) => boolean {
  const auth = args.findIndex((arg) => isWord(arg, 'auth'));
  return (at) => auth > 0 && (at === auth + 1 || at === auth + 2);
}

function isWord(arg: Buffer | undefined, text: string): boolean {
  return arg?.length === text.length && arg.toString('latin1').toLowerCase() === text;
}

/** At most `limits.shownArgumentsMax` of at most `limits.shownArgumentBytesMax`, as Redis cuts them. */
export function shownArgs(command: string, args: readonly Buffer[]): readonly Buffer[] {
  const isSecret = secrets.get(command)?.(args);
  const fits = args.length <= limits.shownArgumentsMax;
  const count = fits ? args.length : limits.shownArgumentsMax - 1;
  const shown: Buffer[] = [];
  for (let at = 0; at < count; at++) {
    shown.push(at > 0 && isSecret?.(at) ? REDACTED : shownArg(args[at]!));
  }
  if (!fits) shown.push(Buffer.from(`... (${args.length - count} more arguments)`));
  return shown;
}

/** A copy: the argument's memory may be a piece of a large request's. */
function shownArg(arg: Buffer): Buffer {
  const max = limits.shownArgumentBytesMax;
  if (arg.length <= max) return Buffer.from(arg);
  const rest = Buffer.from(`... (${arg.length - max} more bytes)`);
  return Buffer.concat([arg.subarray(0, max), rest]);
}
