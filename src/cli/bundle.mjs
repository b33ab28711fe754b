/**
 * The last step of `npm run build`: the program in few files. `dist/cli/kvorum.js` takes the place of the
 * one that the compiler has made; what it loads of ours is in `dist/parts`, verbs apart from each
 * other as they are in the sources. Each start loads some ten files for some thousand, which was half of
 * its CPU. The other files of dist are the SDK's and those of tests; packages stay where they are.
 * Plain JavaScript: nothing is built yet when it runs.
 */
import { dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { markBuilt, putInPlace } from './built.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const dist = join(root, 'dist');
const beganMs = performance.timeOrigin;

const program = await rolldown({
  input: { kvorum: join(root, 'src', 'cli', 'kvorum.ts') },
  platform: 'node',
  external: (id) => !id.startsWith('.') && !isAbsolute(id),
  // package.json says of the SDK that a module nobody uses may go; of the program, nothing is left out
  treeshake: false,
});
const { output } = await program.generate({
  dir: dist,
  format: 'esm',
  sourcemap: true,
  entryFileNames: 'cli/[name].js',
  chunkFileNames: 'parts/[name]-[hash].js',
});
await program.close();
const isEntry = ({ fileName }) => fileName === 'cli/kvorum.js';
const files = [...output.filter((file) => !isEntry(file)), ...output.filter(isEntry)];
putInPlace(
  dist,
  files.map(({ fileName, code, source }) => ({ name: fileName, bytes: code ?? source })),
  beganMs,
);
markBuilt(dist, beganMs);
