/**
 * What groups that nobody uses cost those that are used: the throughput of SETs to a tenth of the
 * groups of a cluster, against a cluster that has only so many. The clusters run one after the other:
 * few, many, few, so that what drifts with time is seen.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Accounting } from './accounting.ts';
import { tagsOf } from './key-tags.ts';
import { startKvorum } from './kvorum-cluster.ts';
import { runLoad } from './load-program.ts';
import { GROUP_START_SECONDS, type Scenario, type Stage } from './scenario.ts';
import { round } from './sheet.ts';
import { BEGIN, type TimedLoad, type TimedLoadResult } from './timed-load-words.ts';

const script = join(fileURLToPath(new URL('.', import.meta.url)), 'timed-load.js');
const HOT_SHARE = 10;
/** Windows of each cluster; the best one counts, for others on the machine only take. */
const WINDOWS = 3;
const WARM_SECONDS = 4;
const START_SECONDS = 15;
const STARTS = 3;

const hotOf = (groups: number) => Math.max(3, Math.floor(groups / HOT_SHARE));

export const hotGroups: Scenario = {
  text: 'hot groups among ten times as many idle ones, against hot ones alone',
  seconds: ({ groups, seconds }) =>
    STARTS * (START_SECONDS + WINDOWS * (seconds + WARM_SECONDS)) +
    (groups + 2 * hotOf(groups)) * GROUP_START_SECONDS,
  async measure(stage) {
    const all = stage.options.groups;
    const hot = hotOf(all);
    const before = await throughputOf(stage, 'few', hot, hot);
    const among = await throughputOf(stage, 'many', all, hot);
    const after = await throughputOf(stage, 'again', hot, hot);
    const alone = (before + after) / 2;
    return [
      {
        text: 'hot groups among idle ones: throughput lost',
        ...{ unit: '%', better: 'less', reach: 15, goal: 5 },
        measured: (1 - among / alone) * 100,
        note:
          `SETs to ${hot} groups: alone ${round(before)}/s and ${round(after)}/s, ` +
          `among ${all} ${round(among)}/s`,
      },
    ];
  },
};

/** Requests a second, the best of some windows. */
async function throughputOf(
  { options, directory, progress }: Stage,
  name: string,
  partitions: number,
  hot: number,
): Promise<number> {
  const kvorum = await startKvorum(join(directory, name), undefined, partitions);
  const accounting = new Accounting(kvorum.processes);
  try {
    const every = Math.floor(partitions / hot);
    const wanted = Array.from({ length: hot }, (_, at) => at * every);
    const told: TimedLoad = {
      ...{ port: kvorum.clusterPort, cluster: true, tags: tagsOf(wanted, partitions) },
      ...{ getShare: 0, draw: 'even', perSecond: 0, clients: 50, valueBytes: 100 },
      ...{ keySpace: 10_000, warmSeconds: WARM_SECONDS, seconds: options.seconds },
    };
    let best = 0;
    for (let window = 0; window < WINDOWS; window++) {
      const { result } = await runLoad<TimedLoadResult>(script, told, accounting, {
        ...{ begin: BEGIN, who: 'clients of hot groups' },
      });
      kvorum.check();
      best = Math.max(best, result.perSecond);
    }
    progress(`hot-groups: ${hot} of ${partitions} groups: ${round(best)} SETs/s`);
    return best;
  } finally {
    accounting.close();
    await kvorum.stop();
  }
}
