/** Scripts as the machine runs them. */
import { createHash } from 'node:crypto';

export interface Script {
  readonly sha: string;
}

export type Compiling =
  | { readonly ok: true; readonly script: Script }
  | { readonly ok: false; readonly message: string };

export function compileScript(body: Buffer): Compiling {
  return { ok: true, script: { sha: createHash('sha1').update(body).digest('hex') } };
}
