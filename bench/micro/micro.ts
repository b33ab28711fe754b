/** What a micro-benchmark is: one room of the hot path, alone in a process, without sockets or disk. */

export interface Micro {
  /** For people: what is done to one command. */
  readonly text: string;
  /** Makes what is needed; what is returned does at least `commands` commands, and says how many. */
  prepare(): Promise<(commands: number) => number | Promise<number>>;
}

/** As many as a client of pipeline 16 sends at once. */
export const TURN = 16;
const VALUE = Buffer.alloc(100, 'v');

/** The command SET with a value of 100 bytes; keys differ. */
export function setCommand(at: number): Buffer[] {
  return [Buffer.from('SET'), keyOf(at), VALUE];
}

export function keyOf(at: number): Buffer {
  return Buffer.from(`key:${String(at % 1_000_000).padStart(12, '0')}`);
}
