/** Where a process that has a run file is asked over HTTP, and whom to believe there. */
import { readFileSync } from 'node:fs';
import { hostPort } from '../common/host-port.ts';
import type { RunFile } from './run-file.ts';

/** Undefined: it has no such port. Over TLS only where nothing else is taken: all is on this machine. */
export function httpBaseOf({ host, ports, https }: RunFile): string | undefined {
  if (ports.http === undefined) return undefined;
  const scheme = https?.mode === 'required' ? 'https' : 'http';
  return `${scheme}://${hostPort({ host, port: ports.http })}`;
}

/** In PEM; undefined where they are not told, or cannot be read: then those that Node.js believes count. */
export function authoritiesOf({ https }: Pick<RunFile, 'https'>): string | undefined {
  if (https?.authorities === undefined) return undefined;
  try {
    return readFileSync(https.authorities, 'latin1');
  } catch {
    return undefined;
  }
}
