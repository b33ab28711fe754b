/** The users of a cluster with their rules, as Redis's `aclfile` has them. */
import { join } from 'node:path';
import type { Address } from '../../common/network.ts';
import { FileWriter } from './file-writer.ts';
import { Gateway, type Login, RefusedError } from './gateway.ts';
import type { Manifest } from './manifest.ts';

const FILE = 'users.acl';

/** From any that answers. Null: whoever asks may not know them. Passwords are hashes. */
export async function saveUsers(
  directory: string,
  gateways: readonly Address[],
  namespace: string,
  login: Login,
): Promise<Manifest['users']> {
  const lines = await usersOf(gateways, namespace, login);
  if (lines === null) return null;
  const writer = await FileWriter.create(join(directory, FILE));
  await writer.write(Buffer.from(lines.map((line) => `${line.toString()}\n`).join('')));
  const { bytes } = writer;
  return { file: FILE, bytes, sha256: await writer.finish() };
}

async function usersOf(
  gateways: readonly Address[],
  namespace: string,
  login: Login,
): Promise<readonly Buffer[] | null> {
  let lost: unknown;
  for (const address of gateways) {
    const gateway = new Gateway(address, namespace, login);
    try {
      return (await gateway.ask('ACL', 'LIST')) as readonly Buffer[];
    } catch (failure) {
      if (failure instanceof RefusedError) return null;
      lost = failure;
    } finally {
      gateway.close();
    }
  }
  throw lost;
}
