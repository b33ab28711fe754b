/** `npm run sim`, once it is built: the simulator with the flags that this Node.js has for it. */
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { simulatorFlags } from './node-flags.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const main = join(root, '.cache', 'sim', 'test', 'sim', 'main.js');
const words = [...simulatorFlags, main, ...process.argv.slice(2)];
const child = spawn(process.execPath, words, { stdio: 'inherit' });
child.once('exit', (code) => process.exit(code ?? 1));
