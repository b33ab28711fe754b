/** Writes need the cluster's token, when one is configured; all placedrivers have the same. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { KvorumError } from '../../common/errors.ts';

/** Why a request may not write. */
export interface Refused {
  readonly status: 401 | 403;
  readonly message: string;
}

/** Throws BAD_CONFIG for a token that no header can carry. */
export function checkToken(token: string, where: string): string {
  if (/^[!-~]{8,1024}$/.test(token)) return token;
  const rule = 'a token has 8 to 1,024 visible ASCII characters, no spaces';
  throw new KvorumError('BAD_CONFIG', `${where}: ${rule}`);
}

export function judgeToken(
  wanted: string | undefined,
  authorization: string | undefined,
): Refused | undefined {
  if (wanted === undefined) return undefined;
  const given = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  if (given === undefined) {
    return { status: 401, message: 'this needs a header Authorization: Bearer TOKEN' };
  }
  // digests have one length: how long a comparison takes says nothing of the token
  if (timingSafeEqual(digest(given), digest(wanted))) return undefined;
  return { status: 403, message: 'the token of Authorization: Bearer is not the configured one' };
}

const digest = (token: string) => createHash('sha256').update(token).digest();
