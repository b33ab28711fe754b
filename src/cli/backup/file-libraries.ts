/** Libraries of functions at the beginning of a file of a backup, before its first key. */
import { createReadStream } from 'node:fs';
import { RdbParser } from '../import/rdb/rdb-parser.ts';

/** Their names. Rejects with RdbFileError for what is no RDB file. */
export async function librariesIn(path: string): Promise<readonly string[]> {
  const names: string[] = [];
  const parser = new RdbParser();
  for await (const chunk of createReadStream(path)) {
    parser.push(chunk as Buffer);
    for (let event = parser.next(); event !== undefined; event = parser.next()) {
      if (event.kind === 'library') names.push(event.name);
      if ('head' in event || event.kind === 'end') return names;
    }
  }
  return names;
}
