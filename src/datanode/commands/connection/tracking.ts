/** CLIENT TRACKING and its relatives, by the words and in the order of checks of Redis. */
import { limits } from '../../../common/limits.ts';
import { parseInteger } from '../../encoding/strings/string.ts';
import { array, bulk, error, integer, OK, type Reply } from '../../resp/reply.ts';
import { argument, NOT_AN_INTEGER, SYNTAX_ERROR, word } from '../rows/args.ts';
import type { NodeCommand } from '../rows/command.ts';
import type { Session } from '../rows/node-context.ts';
import type { ClientTracking, TrackingOptions } from './tracking-port.ts';

type Run = NodeCommand['run'];
type Words = { -readonly [Field in keyof TrackingOptions]: TrackingOptions[Field] };

const OFF =
  'before disabling tracking for this client, and then re-enabling it with a different mode.';
const ONE_REDIRECT = 'ERR A client can only redirect to a single other client';
const NO_SUCH_CLIENT = 'ERR The client ID you want redirect to does not exist';

/** CLIENT TRACKING ON | OFF [REDIRECT id] [PREFIX prefix]... [BCAST] [OPTIN] [OPTOUT] [NOLOOP] */
export const tracking: Run = (args, { session, sessions, tracking: port }) => {
  const options = parseOptions(args, sessions);
  if (typeof options === 'string') return error(options);
  const mode = word(argument(args, 2));
  if (mode === 'off') {
    port.disable(session);
    return OK;
  }
  if (mode !== 'on') return error(SYNTAX_ERROR);
  const refusal = refusalOf(options, session.tracking);
  if (refusal !== undefined) return error(`ERR ${refusal}`);
  return port.enable(session, options)?.then(() => OK) ?? OK;
};

function parseOptions(
  args: readonly Buffer[],
  sessions: () => readonly Session[],
): TrackingOptions | string {
  const prefixes: Buffer[] = [];
  const plain = { broadcast: false, optIn: false, optOut: false, noLoop: false };
  const options: Words = { redirect: undefined, prefixes, ...plain };
  for (let at = 3; at < args.length; at++) {
    const name = word(argument(args, at));
    const flag = flagNames.get(name);
    if (flag !== undefined) options[flag] = true;
    else if (name === 'prefix' && at + 1 < args.length) prefixes.push(Buffer.from(args[++at]!));
    else if (name === 'redirect' && at + 1 < args.length) {
      if (options.redirect !== undefined) return ONE_REDIRECT;
      const id = parseInteger(args[++at]!);
      if (id === undefined) return NOT_AN_INTEGER;
      options.redirect = sessions().find((one) => one.id === id);
      if (options.redirect === undefined) return NO_SUCH_CLIENT;
    } else return SYNTAX_ERROR;
  }
  return options;
}

const flagNames = new Map([
  ['bcast', 'broadcast'],
  ['optin', 'optIn'],
  ['optout', 'optOut'],
  ['noloop', 'noLoop'],
] as const) as ReadonlyMap<string, 'broadcast' | 'optIn' | 'optOut' | 'noLoop'>;

function refusalOf(
  { broadcast, prefixes, optIn, optOut }: TrackingOptions,
  now: ClientTracking | undefined,
): string | undefined {
  if (!broadcast && prefixes.length > 0) return 'PREFIX option requires BCAST mode to be enabled';
  if (now !== undefined && now.broadcast !== broadcast) {
    return `You can't switch BCAST mode on/off ${OFF}`;
  }
  if (broadcast && (optIn || optOut)) return 'OPTIN and OPTOUT are not compatible with BCAST';
  if (optIn && optOut) return "You can't specify both OPTIN mode and OPTOUT mode";
  if ((optIn && now?.optOut) || (optOut && now?.optIn)) {
    return `You can't switch OPTIN/OPTOUT mode ${OFF}`;
  }
  return broadcast ? collisionOf(prefixes, now?.prefixes ?? []) : undefined;
}

function collisionOf(given: readonly Buffer[], known: readonly Buffer[]): string | undefined {
  for (const [at, prefix] of given.entries()) {
    const old = known.find((one) => overlap(one, prefix));
    if (old !== undefined) return overlapping(prefix, 'an existing', old);
    const other = given.slice(at + 1).find((one) => overlap(one, prefix));
    if (other !== undefined) return overlapping(prefix, 'another provided', other);
  }
  const { trackingPrefixesMax } = limits;
  if (given.length + known.length <= trackingPrefixesMax) return undefined;
  return `a client tracks at most ${trackingPrefixesMax} prefixes`;
}

/** One is the beginning of the other. */
function overlap(one: Buffer, other: Buffer): boolean {
  const length = Math.min(one.length, other.length);
  return one.compare(other, 0, length, 0, length) === 0;
}

function overlapping(prefix: Buffer, which: string, other: Buffer): string {
  const [first, second] = [prefix, other].map((each) => each.toString('utf8', 0, 128));
  return (
    `Prefix '${first}' overlaps with ${which} prefix '${second}'. Prefixes for a single client ` +
    'must not overlap.'
  );
}

/** CLIENT CACHING YES | NO */
export const caching: Run = (args, { session: { tracking: now } }) => {
  if (now === undefined) return error(NOT_TRACKING);
  const mode = word(argument(args, 2));
  if (mode !== 'yes' && mode !== 'no') return error(SYNTAX_ERROR);
  if (mode === 'yes' && !now.optIn) return error(ONLY_OPTIN);
  if (mode === 'no' && !now.optOut) return error(ONLY_OPTOUT);
  now.caching = true;
  return OK;
};

const NOT_TRACKING =
  'ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or ' +
  'OPTOUT mode enabled';
const ONLY_OPTIN = 'ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.';
const ONLY_OPTOUT = 'ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.';

export const getRedirection: Run = (_args, { session }) => integer(redirectOf(session));

/** As CLIENT LIST, GETREDIR and TRACKINGINFO tell it: -1 where tracking is off. */
export function redirectOf({ tracking: now }: Session): number {
  return now === undefined ? -1 : now.redirect;
}

export const trackingInfo: Run = (_args, { session }): Reply => {
  const { tracking: now } = session;
  return {
    kind: 'map',
    pairs: [
      [bulk('flags'), { kind: 'set', items: flagsOf(now).map((flag) => bulk(flag)) }],
      [bulk('redirect'), integer(redirectOf(session))],
      [bulk('prefixes'), array((now?.prefixes ?? []).map((prefix) => bulk(prefix)))],
    ],
  };
};

function flagsOf(now: ClientTracking | undefined): string[] {
  if (now === undefined) return ['off'];
  const { broadcast, optIn, optOut, noLoop, isBroken, caching: given } = now;
  const flags = ['on'];
  if (broadcast) flags.push('bcast');
  if (optIn) flags.push('optin');
  if (optIn && given) flags.push('caching-yes');
  if (optOut) flags.push('optout');
  if (optOut && given) flags.push('caching-no');
  if (noLoop) flags.push('noloop');
  if (isBroken) flags.push('broken_redirect');
  return flags;
}
