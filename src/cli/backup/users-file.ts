/** The users of a cluster with their rules, as Redis's `aclfile` has them. */
import { join } from 'node:path';
import type { Address } from '../../common/network.ts';
import { FileWriter } from './file-writer.ts';
import { Gateway, type Login, RefusedError } from './gateway.ts';
import type { Manifest } from './manifest.ts';

const FILE = 'users.acl';

/** Null: whoever asks may not know them. Passwords are hashes. */
export async function saveUsers(
  directory: string,
  address: Address,
  namespace: string,
  login: Login,
): Promise<Manifest['users']> {
  const gateway = new Gateway(address, namespace, login);
  try {
    const lines = (await gateway.ask('ACL', 'LIST')) as readonly Buffer[];
    const writer = await FileWriter.create(join(directory, FILE));
    await writer.write(Buffer.from(lines.map((line) => `${line.toString()}\n`).join('')));
    const { bytes } = writer;
    return { file: FILE, bytes, sha256: await writer.finish() };
  } catch (failure) {
    if (failure instanceof RefusedError) return null;
    throw failure;
  } finally {
    gateway.close();
  }
}
