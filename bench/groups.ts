/** What a node costs that holds many groups which nobody uses. */
import { idleSeconds, measureIdle } from './idle.ts';
import type { Scenario } from './scenario.ts';

export const groups: Scenario = {
  text: 'many groups on every node, all of them idle',
  seconds: (options) => idleSeconds(options.groups),
  async measure({ options, directory }) {
    const { idle, memory } = await measureIdle(directory, options.groups);
    const isNode = ([name]: readonly [string, unknown]) => name.startsWith('datanode');
    const shares = Object.entries(idle.servers)
      .filter(isNode)
      .map(([, seconds]) => (seconds / idle.seconds) * 100);
    const held = Object.entries(memory)
      .filter(isNode)
      .map(([, { endBytes }]) => endBytes / 1e6);
    const note = `the most of ${held.length} nodes, ${options.groups} groups on each`;
    const common = { better: 'less', note } as const;
    return [
      {
        ...{ text: 'idle groups, a node: share of a core', unit: '%', ...common },
        ...{ reach: 4, goal: 1, measured: Math.max(...shares) },
      },
      {
        ...{ text: 'idle groups, a node: RssAnon', unit: 'MB', ...common },
        ...{ reach: 500, goal: 300, measured: Math.max(...held) },
      },
    ];
  },
};
