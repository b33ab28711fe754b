/** Why a process cannot listen, and which field of its configuration changes that. */
import { KvorumError, messageOf, systemCodeOf } from './errors.ts';
import { hostPort } from './host-port.ts';
import type { Address } from './network.ts';

/** Where every door listens: on `host`, unless `listen` is given. */
const HOST_FIELDS = '`listen` or, without it, `host`';

/**
 * BAD_CONFIG naming what to change: `portField` (such as `ports.http`) when the port is the trouble,
 * `host` when the address is. Anything else that went wrong is returned as it is.
 */
export function listenFailure(error: unknown, address: Address, portField: string): unknown {
  const remedy = remedyOf(systemCodeOf(error), portField);
  if (remedy === undefined) return error;
  return new KvorumError(
    'BAD_CONFIG',
    `cannot listen on ${hostPort(address)} (${messageOf(error)}); ${remedy}`,
    {
      cause: error,
    },
  );
}

function remedyOf(code: string | undefined, portField: string): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `stop the program that does, or change ${portField} in the configuration`;
    case 'EACCES':
      return `change ${portField} in the configuration: this user may not take that port`;
    case 'EADDRNOTAVAIL':
      return `change ${HOST_FIELDS} in the configuration: this machine has no such address`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `change ${HOST_FIELDS} in the configuration: nothing tells the address of that name`;
    default:
      return undefined;
  }
}
