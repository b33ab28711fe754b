/**
 * With what Node.js runs the simulator. Most of what a step makes is gone with the step. So many
 * functions are used, each a little, that optimizing them costs much: V8 waits longer for it, up to
 * Node.js 20. Those after it have no such flag, do not start with it, and need less CPU without it.
 */
const [major] = process.versions.node.split('.').map(Number);

export const simulatorFlags = [
  ...['--min-semi-space-size=64', '--max-semi-space-size=64'],
  ...(major < 22 ? ['--interrupt-budget=400000'] : []),
];
