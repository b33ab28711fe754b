/** `kvorum import FILE --check`: reads a file alone, every value of it, and says what is in it. */
import { decodeRdbValue, type RdbValue } from '../../datanode/encoding/rdb/rdb-decode.ts';
import { RdbBoundError, RdbError } from '../../datanode/encoding/rdb/rdb-reader.ts';
import { say, sayJson, tableLines } from '../admin/print.ts';
import { finished } from './finished.ts';
import { type KeyHead, keyText, type RdbEvent, RdbFileError } from './rdb/rdb-events.ts';

export class FileCheck {
  readonly #types = new Map<string, { keys: number; bytes: number; deadlines: number }>();
  readonly #left: string[] = [];
  readonly #libraries: string[] = [];
  #version = 0;
  #hasChecksum = false;
  #database = 0;
  #parts = 0;

  /** Throws RdbFileError for a value that cannot be read. */
  take(event: RdbEvent): undefined {
    switch (event.kind) {
      case 'header':
        this.#version = event.version;
        return;
      case 'database':
        this.#database = event.database;
        return;
      case 'string':
        return this.#add(event.head, 'string', event.bytes.length);
      case 'whole':
        return this.#add(event.head, decoded(event.head, event.body).type, event.body.length);
      case 'large':
        this.#parts = 0;
        return;
      case 'part':
        this.#parts++;
        return;
      case 'endOfLarge':
        if (event.refused === undefined) return this.#add(event.head, 'large', this.#parts);
        this.#leave(event.head, event.refused);
        return;
      case 'refused':
        this.#leave(event.head, event.why);
        return;
      case 'library':
        this.#libraries.push(event.name);
        return;
      case 'skipped':
        this.#left.push(event.what);
        return;
      case 'end':
        this.#hasChecksum = event.hasChecksum;
        return;
      default:
        return;
    }
  }

  /** After the end. */
  tell(json: boolean | undefined): void {
    const [version, hasChecksum, left] = [this.#version, this.#hasChecksum, this.#left];
    const types = [...this.#types].map(([name, counts]) => ({ name, ...counts }));
    const libraries = this.#libraries;
    if (json) return sayJson({ version, hasChecksum, types, libraries, left });
    const rows = types.map(({ name, keys, deadlines }) => [name, keys, deadlines]);
    for (const line of tableLines(['database and type', 'keys', 'with deadline'], rows)) say(line);
    if (libraries.length > 0) say(`libraries of functions: ${libraries.join(', ')}`);
    for (const one of left) say(`cannot be imported: ${one}`);
    const sum = hasChecksum ? 'the checksum is right' : 'it has no checksum';
    say(`version ${version} of the format, whole; ${sum}`);
  }

  get hasLeft(): boolean {
    return this.#left.length > 0;
  }

  #add({ deadlineMs }: KeyHead, type: string, bytes: number): undefined {
    const name = `${this.#database} ${type}`;
    const counts = this.#types.get(name) ?? { keys: 0, bytes: 0, deadlines: 0 };
    this.#types.set(name, counts);
    counts.keys++;
    counts.bytes += bytes;
    if (deadlineMs !== undefined) counts.deadlines++;
  }

  #leave(head: KeyHead, why: string): void {
    this.#left.push(`the key ${keyText(head.key)}: ${why}`);
  }
}

function decoded(head: KeyHead, body: Buffer): RdbValue | { readonly type: 'large' } {
  try {
    return finished(decodeRdbValue(body));
  } catch (failure) {
    if (failure instanceof RdbBoundError) return { type: 'large' };
    if (!(failure instanceof RdbError)) throw failure;
    const what = `the value of the key ${keyText(head.key)}`;
    throw new RdbFileError(head.offset, what, failure.message);
  }
}
