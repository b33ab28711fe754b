/** Tells a command that is sent under a session from others, without the command table. */
/** Where the command begins that KV.ONCE carries. */
export const CARRIED_AT = 4;
const LETTER_K = 0x6b;
const LOWER_CASE = 0x20;
const NAME = 'kv.once';

/** `KV.ONCE …`; the first letter spares other lines the comparison. */
export function isOnceLine([name]: readonly Buffer[]): boolean {
  if (name?.length !== NAME.length || (name[0]! | LOWER_CASE) !== LETTER_K) return false;
  return name.toString('latin1').toLowerCase() === NAME;
}
