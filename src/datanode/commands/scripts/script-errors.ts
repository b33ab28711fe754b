/** Texts of Redis 7.0 about scripts. */
import { error, type Reply } from '../../resp/reply.ts';

export const NO_SCRIPT = error('NOSCRIPT No matching script. Please use EVAL.');

/** `message` as Lua tells it: `user_script:1: unexpected symbol near '<eof>'`. */
export function notCompiled(message: string): Reply {
  return error(`ERR Error compiling script (new function): ${message}`);
}
