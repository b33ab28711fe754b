/** Replies as data; `encode-reply.ts` turns them into RESP2 or RESP3 bytes. */
export type Reply =
  | { readonly kind: 'simple'; readonly text: string }
  | { readonly kind: 'error'; readonly text: string }
  | { readonly kind: 'integer'; readonly value: number | bigint }
  | { readonly kind: 'bulk'; readonly bytes: Buffer }
  | { readonly kind: 'null' }
  /** `*-1` in RESP2, `_` in RESP3. */
  | { readonly kind: 'nullArray' }
  | { readonly kind: 'array'; readonly items: readonly Reply[] }
  /** RESP2: a flat array of keys and values. */
  | { readonly kind: 'map'; readonly pairs: readonly (readonly [Reply, Reply])[] }
  /** RESP2: a flat array. RESP3: an array of arrays of two. */
  | { readonly kind: 'pairs'; readonly pairs: readonly (readonly [Reply, Reply])[] }
  /** RESP2: an array of arrays of two. RESP3: a map. */
  | { readonly kind: 'rows'; readonly pairs: readonly (readonly [Reply, Reply])[] }
  | { readonly kind: 'set'; readonly items: readonly Reply[] }
  | { readonly kind: 'push'; readonly items: readonly Reply[] }
  /** RESP2: a bulk string. In Redis's shortest form unless `text` spells it otherwise. */
  | { readonly kind: 'double'; readonly value: number; readonly text?: string }
  /** RESP2: 1 or 0. */
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'verbatim'; readonly format: 'txt' | 'mkd'; readonly text: string }
  | { readonly kind: 'bigNumber'; readonly value: bigint }
  /** Many items, encoded already (`ReplyPile`), without the line that counts them. */
  | {
      readonly kind: 'packed';
      readonly shape: PackedShape;
      /** Items; of a map and of pairs, pairs. */
      readonly units: number;
      readonly resp2: readonly Buffer[];
      readonly resp3: readonly Buffer[];
    }
  /** Where RESP3 has more than another form of the same. */
  | { readonly kind: 'either'; readonly resp2: Reply; readonly resp3: Reply }
  /** Given before, and kept in both protocols. */
  | { readonly kind: 'kept'; readonly resp2: Buffer; readonly resp3: Buffer }
  /** Bytes already encoded for this client's protocol (a forwarded reply). */
  | { readonly kind: 'encoded'; readonly bytes: Buffer };

export type PackedShape = 'array' | 'set' | 'map' | 'pairs';

export type Protocol = 2 | 3;

export const OK: Reply = { kind: 'simple', text: 'OK' };
export const NULL: Reply = { kind: 'null' };
export const NULL_ARRAY: Reply = { kind: 'nullArray' };
export const EMPTY_ARRAY: Reply = { kind: 'array', items: [] };
export const QUEUED: Reply = { kind: 'simple', text: 'QUEUED' };

export function integer(value: number | bigint): Reply {
  return { kind: 'integer', value };
}

/** `text` starts with its upper-case code: `ERR syntax error`. */
export function error(text: string): Reply {
  return { kind: 'error', text };
}

export function bulk(bytes: Buffer | string): Reply {
  return { kind: 'bulk', bytes: typeof bytes === 'string' ? Buffer.from(bytes) : bytes };
}

export function array(items: readonly Reply[]): Reply {
  return { kind: 'array', items };
}
