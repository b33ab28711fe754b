/** Flags of Node.js for the simulator. */
export const simulatorFlags: readonly string[];
