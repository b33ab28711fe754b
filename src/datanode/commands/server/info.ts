/** INFO: the sections of Redis, in its order and with its names, and our own behind them. */
import type { Reply } from '../../resp/reply.ts';
import { word } from '../rows/args.ts';
import { type Command, NO_KEYS, node } from '../rows/command.ts';
import type { NodeContext } from '../rows/node-context.ts';
import { ownSections } from './info-own.ts';
import { redisSections, type Section } from './info-sections.ts';

const sections: readonly Section[] = [...redisSections, ...ownSections];

/** INFO [section [section ...]]: each section once, in our order; unknown names add nothing. */
async function info(args: readonly Buffer[], context: NodeContext): Promise<Reply> {
  const wanted = new Set(args.slice(1).map(word));
  const all = wanted.has('all') || wanted.has('everything');
  const defaults = wanted.size === 0 || wanted.has('default');
  const shown = sections.filter(
    ({ title, byDefault }) => all || wanted.has(title.toLowerCase()) || (defaults && byDefault),
  );
  const state = context.info();
  const parts: string[] = [];
  for (const { title, fields } of shown) {
    const lines = Object.entries(await fields(context, state)).map(
      ([field, value]) => `${field}:${value}\r\n`,
    );
    parts.push(`# ${title}\r\n${lines.join('')}`);
  }
  return { kind: 'verbatim', format: 'txt', text: parts.join('\r\n') };
}

export const infoCommands: readonly Command[] = [
  node({
    name: 'info',
    arity: -1,
    flags: ['loading', 'stale'],
    keys: NO_KEYS,
    categories: ['dangerous', 'slow'],
    group: 'server',
    since: '1.0.0',
    summary: 'Returns information and statistics about the server.',
    run: info,
  }),
];
