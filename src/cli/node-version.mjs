/**
 * Which Node.js is new enough: CommonJS requires ES modules from 20.19 on, and from 22.12 on.
 * Plain JavaScript: it must run before anything is built; `node-version.ts` is the same, built.
 */

/** What is wrong with a version of Node.js, and the remedy; undefined: nothing. */
export function refusalOfNode(version) {
  const [major, minor] = version.split('.').map(Number);
  const isNew = major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19);
  return isNew ? undefined : `Node.js ${version} is too old: install 20.19, 22.12 or newer`;
}
