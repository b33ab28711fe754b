/** `#!lua flags=no-writes`: the first line of a script that says what it is (redis.io, Scripting with Lua). */

export interface ScriptFlags {
  /** It runs no command that writes. */
  readonly isReadOnly: boolean;
  /** It says what it is, and not that it does not write: commands that only read do not run it. */
  readonly saysItWrites: boolean;
}

export type Shebang =
  | { readonly ok: true; readonly source: string; readonly flags: ScriptFlags }
  | { readonly ok: false; readonly message: string };

const NO_WRITES = 'no-writes';
/** The others change nothing here: there is always room, nothing is stale, keys are of one partition. */
const KNOWN = [NO_WRITES, 'allow-oom', 'allow-stale', 'no-cluster', 'allow-cross-slot-keys'];
const FLAGS = 'flags=';
const UNTOLD: ScriptFlags = { isReadOnly: false, saysItWrites: false };

/** `source` is what the machine is given, one character for each byte: its lines are those of the script. */
export function parseShebang(body: Buffer): Shebang {
  const source = body.toString('latin1');
  if (!source.startsWith('#!')) return { ok: true, source, flags: UNTOLD };
  const end = source.indexOf('\n');
  if (end < 0) return refused('Invalid script shebang');
  const [engine = '', ...options] = source.slice(0, end).split(/[ \t\r\v\f\0]+/);
  if (engine.slice(2) !== 'lua') return refused(`Unexpected engine in script shebang: ${engine}`);
  const names: string[] = [];
  for (const option of options.filter((text) => text !== '')) {
    if (!option.startsWith(FLAGS)) return refused(`Unknown lua shebang option: ${option}`);
    if (option.length > FLAGS.length) names.push(...option.slice(FLAGS.length).split(','));
  }
  const unknown = names.find((name) => !KNOWN.includes(name));
  if (unknown !== undefined) return refused(`Unexpected flag in script shebang: ${unknown}`);
  // Redis leaves the line's end, so that lines are counted alike
  const isReadOnly = names.includes(NO_WRITES);
  return { ok: true, source: source.slice(end), flags: { isReadOnly, saysItWrites: !isReadOnly } };
}

function refused(text: string): Shebang {
  return { ok: false, message: `ERR ${text}` };
}
