/**
 * Test files of which each worker runs one after the other in one process: that starts once, and loads
 * what they import once. Plain JavaScript, as test/run.mjs is.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Rooms of many small files whose modules keep nothing that the next file would see. */
const rooms = [
  ...['test/bench', 'test/common'],
  ...['acl', 'commands', 'encoding', 'lua', 'partition', 'pubsub', 'raft', 'resp'].map(below),
  ...['routing', 'transport', 'zan'].map(below),
];

/** Files in them that ask what their own process has kept. */
const asking = ['commands/docs/table-rows', 'commands/server/info'].map(
  (name) => `${below(name)}.test.ts`,
);

/** Who replaces parts of modules, changes the process or measures it: others there would see it, or be seen. */
const wantsItsOwn = /\bvi\b|cpuUsage|resourceUsage|memoryUsage|process\.(on|once|env|exit|chdir)\b/;

/** Their paths from `root`, the directory of the repository. */
export function filesInOneProcess(root) {
  const files = rooms.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => `${folder}/${name}`),
  );
  return files.filter(
    (file) =>
      file.endsWith('.test.ts') &&
      !asking.includes(file) &&
      !wantsItsOwn.test(readFileSync(join(root, file), 'utf8')),
  );
}

function below(room) {
  return `test/datanode/${room}`;
}
