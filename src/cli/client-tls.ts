/** How a verb speaks TLS at the ports of clients: `--tls`, `--ca`, `--cert` and `--key`. */
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { KvorumError, messageOf } from '../common/errors.ts';
import { parseTls, type TlsOptions } from '../sdk/tls-options.ts';

export interface ClientTlsFlags {
  readonly tls?: boolean;
  /** Files in PEM. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** All but `--ca`, which verbs that ask a placedriver have already. */
export function clientTlsOptions(command: Command): Command {
  return command
    .option('--tls', 'speak TLS with datanodes (--ca says whom to believe)')
    .option('--cert <file>', 'the certificate to show there')
    .option('--key <file>', 'of that certificate');
}

/**
 * Undefined: plain. `wanted`: an address says so, without `--tls`; `known`: whom to believe without
 * `--ca`. Throws BAD_ARGUMENT.
 */
export function clientTls(
  flags: ClientTlsFlags,
  wanted = false,
  known?: string,
): TlsOptions | undefined {
  const { ca, cert, key } = flags;
  if (!(flags.tls || wanted)) {
    if (cert === undefined && key === undefined) return undefined;
    throw bad('--cert and --key are for TLS: give --tls too');
  }
  const authorities = ca === undefined ? known : pemOf('--ca', ca);
  try {
    return parseTls({
      ...(authorities !== undefined && { ca: authorities }),
      ...(cert !== undefined && { cert: pemOf('--cert', cert) }),
      ...(key !== undefined && { key: pemOf('--key', key) }),
    });
  } catch (failure) {
    if (failure instanceof KvorumError) throw failure;
    throw bad(`--tls, --ca, --cert, --key: ${messageOf(failure)}`);
  }
}

function pemOf(flag: string, file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch (cause) {
    throw bad(`${flag} ${file}: cannot be read (${messageOf(cause)})`);
  }
}

function bad(text: string): KvorumError {
  return new KvorumError('BAD_ARGUMENT', text);
}
