/**
 * Bounds of scripts and of libraries of functions, the same on every node, since what a script comes to
 * depends on them. They are part of `limits` (`limits.ts`), which is what others import.
 */
const KIB = 1024;
const MIB = 1024 * KIB;

export const scriptLimits = {
  /** A body, which is compiled in one turn (0.3 s a MiB); all that a partition keeps, with their records;
   * those that were evaluated and not loaded. */
  scriptBytesMax: 256 * KIB,
  scriptsBytesMax: 4 * MIB,
  scriptsEvaluatedMax: 512,
  /** Bodies of scripts that a process keeps compiled. */
  scriptsCompiledBytes: 4 * MIB,
  /** Steps of the machine in one run, and bytes that it makes, kept or not; some 0.3 ms of steps, after
   * which others may have their turn. */
  scriptStepsMax: 50_000_000,
  scriptBytesMadeMax: 256 * MIB,
  scriptPauseSteps: 5_000,
  /** Of one call to a library, which does not pause: 10 to 60 ns each. */
  scriptCallStepsMax: 8_000_000,
  /** What one run puts into keys, near enough: beyond, its next write is refused. */
  scriptPutBytesMax: 128 * MIB,
  /** What the commands before it in its entry have put: beyond, a script does not begin. */
  scriptEntryPutBytesMax: 128 * MIB,
  /** All that a partition keeps of them, with their records; how many; a name of one, or of a function. */
  librariesBytesMax: 4 * MIB,
  librariesMax: 1_024,
  libraryNameBytesMax: 255,
  /** Code of libraries that a process keeps compiled. */
  librariesCompiledBytes: 4 * MIB,
  /** What one does while it is loaded, as it is before each call of a function; of all that are restored at once. */
  libraryLoadStepsMax: 1_000_000,
  libraryLoadBytesMax: 16 * MIB,
  librariesRestoreStepsMax: 50_000_000,
  /** Tables within each other in what a script answers; replies that are decoded have no more. */
  scriptReplyDepthMax: 120,
  replyNestingMax: 128,
} as const;
