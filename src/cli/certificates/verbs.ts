/** `kvorum certificates`: an authority for one cluster, and what it signs for nodes and clients. */
import { type Command, InvalidArgumentError } from 'commander';

/** Browsers take no longer ones, and who renews once a year does not forget how. */
const LEAF_DAYS = 365;
const AUTHORITY_DAYS = 3_650;
const DAYS_MAX = 36_500;

export interface InitFlags {
  readonly days: number;
}

export interface IssueFlags {
  readonly host?: readonly string[];
  readonly client?: boolean;
  readonly days: number;
}

/** Adds the verb with its two sub-verbs. */
export function addCertificateVerbs(program: Command): void {
  const verbs = program
    .command('certificates')
    .description('keys and certificates for TLS: an authority, and what it signs');
  verbs
    .command('init')
    .argument('<dir>', 'where ca.crt and ca.key are made')
    .description('make a certificate authority: every process and client is given ca.crt')
    .option('--days <n>', 'how long it is valid', days, AUTHORITY_DAYS)
    .action(async (dir: string, flags: InitFlags) =>
      (await import('./issue.ts')).initAuthority(dir, flags),
    );
  verbs
    .command('issue')
    .argument('<dir>', 'where ca.crt and ca.key are')
    .argument(
      '<name>',
      "a node's name, or with --client a client's: its ACL user, where that is set",
    )
    .description(
      'make NAME.key and NAME.crt: of a node, which is server and client, or of a client',
    )
    .option(
      '--host <host>',
      'a name or address the node is dialed by; may be repeated',
      several,
      [],
    )
    .option('--client', 'of a client: no server can use it')
    .option('--days <n>', 'how long it is valid', days, LEAF_DAYS)
    .action(async (dir: string, name: string, flags: IssueFlags) =>
      (await import('./issue.ts')).issue(dir, name, flags),
    );
}

function several(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

function days(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= DAYS_MAX) return value;
  throw new InvalidArgumentError(`must be a whole number of days, 1 to ${DAYS_MAX}.`);
}
