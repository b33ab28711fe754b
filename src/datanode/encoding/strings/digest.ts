/** The digest of a string as Redis 8.4 has it: XXH3, 64 bits, as 16 hexadecimal digits. */
import { createXXHash3 } from 'hash-wasm';

/** Its own module of WebAssembly, which comes with the package: there when this file is. */
const hasher = await createXXHash3();

/** In lower case. Of 16 MiB some 5 ms. */
export function digestOf(bytes: Uint8Array): string {
  return hasher.init().update(bytes).digest('hex');
}
