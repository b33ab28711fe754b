/** What was read and is kept for long. */
const POOLED_BYTES_MAX = 256;

/**
 * A small value, kept in Node's pool: a million views of what the engine gave, each a piece of memory
 * of its own, hold up the garbage collector.
 */
export function keptValue(value: Buffer): Buffer {
  return value.length <= POOLED_BYTES_MAX ? Buffer.from(value) : value;
}
