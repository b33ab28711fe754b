/** How long this process has worked on something: on a busy machine the clock tells more of others. */
export function cpuMsOf(run: () => void): number {
  const before = process.cpuUsage();
  run();
  return cpuMsSince(before);
}

/** As `cpuMsOf`, of what may also wait. */
export async function cpuMsOfAll(run: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await run();
  return cpuMsSince(before);
}

function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
