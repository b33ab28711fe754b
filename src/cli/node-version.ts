/**
 * Ends a process whose Node.js is too old, with a sentence. It imports nothing, and `kvorum.ts`
 * imports it first: an old Node.js would end with a stack in the first module that needs a new one.
 * The rule is that of `node-version.mjs`, which runs before anything is built.
 */
const { node } = process.versions;
const [major = 0, minor = 0] = node.split('.').map(Number);

if (!(major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19))) {
  process.stderr.write(`kvorum: Node.js ${node} is too old: install 20.19, 22.12 or newer\n`);
  process.exit(1);
}

export {};
