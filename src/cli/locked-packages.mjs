/**
 * Whether node_modules is what package-lock.json says: after a pull it may be what an older one said.
 * Plain JavaScript: it must run before anything is installed.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** False as well when either cannot be read. What this system does not need (`optional`) may lack. */
export function isInstalledAsLocked(root) {
  try {
    const installed = packagesOf(join(root, 'node_modules', '.package-lock.json'));
    return Object.entries(packagesOf(join(root, 'package-lock.json'))).every(
      ([path, { version, optional, devOptional }]) =>
        path === '' || optional || devOptional || installed[path]?.version === version,
    );
  } catch {
    return false;
  }
}

function packagesOf(file) {
  return JSON.parse(readFileSync(file, 'utf8')).packages;
}
