/** A command's arguments as SLOWLOG and MONITOR show them: cut to bounds, and without secrets. */
import { limits } from '../../common/limits.ts';

const REDACTED = Buffer.from('(redacted)');

/** So few arguments are shown as they came. */
const AS_THEY_ARE_MAX = 4;
/** Memory that they may keep alive, each. */
const MEMORY_KEPT_MAX = 16_384;

/** Also of settings that there are none of: who sets them for Redis's sake sends a secret all the same. */
const secretSettings = [
  'requirepass',
  'masterauth',
  'masteruser',
  'tls-key-file-pass',
  'tls-client-key-file-pass',
];

/** Of these, which arguments must not be seen by who looks at other clients' commands. */
const secrets: ReadonlyMap<string, (args: readonly Buffer[]) => (at: number) => boolean> = new Map([
  ['auth', () => () => true],
  ['hello', helloSecrets],
  ['acl|setuser', () => (at) => at > 1],
  ['config|set', (args) => (at) => secretSettings.some((name) => isWord(args[at - 1], name))],
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
  if (isSecret === undefined && args.length <= AS_THEY_ARE_MAX && args.every(isShort)) return args;
  const fits = args.length <= limits.shownArgumentsMax;
  const count = fits ? args.length : limits.shownArgumentsMax - 1;
  const shown: Buffer[] = [];
  for (let at = 0; at < count; at++) {
    shown.push(at > 0 && isSecret?.(at) ? REDACTED : shownArg(args[at]!));
  }
  if (!fits) shown.push(Buffer.from(`... (${args.length - count} more arguments)`));
  return shown;
}

/** Not even its memory is large; under deep pipelines each command may be one to be kept. */
function isShort(arg: Buffer): boolean {
  return arg.length <= limits.shownArgumentBytesMax && arg.buffer.byteLength <= MEMORY_KEPT_MAX;
}

/** A copy: the argument's memory may be a piece of a large request's. */
function shownArg(arg: Buffer): Buffer {
  const max = limits.shownArgumentBytesMax;
  if (arg.length <= max) return Buffer.from(arg);
  const rest = Buffer.from(`... (${arg.length - max} more bytes)`);
  return Buffer.concat([arg.subarray(0, max), rest]);
}
