/** Logger over pino: JSON lines into a file, pretty lines on a terminal. */
import { type Logger as PinoLogger, pino } from 'pino';
import pretty from 'pino-pretty';
import type { LogFields, Logger } from '../common/log.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Whose level can be changed, with that of all its children. */
export interface LevelledLogger extends Logger {
  setLevel(level: LogLevel): void;
}

export interface LoggerSettings {
  readonly level: LogLevel;
  readonly file?: string | undefined;
}

export function createLogger(name: string, settings: LoggerSettings): LevelledLogger {
  const options = { name, level: settings.level, base: { name } };
  const destination = settings.file
    ? pino.destination({ dest: settings.file, mkdir: true, sync: true })
    : process.stdout.isTTY
      ? pretty({ sync: true, ignore: 'pid,hostname' })
      : pino.destination({ dest: 1, sync: true });
  const family = { level: settings.level };
  return {
    ...wrap(pino(options, destination), family),
    setLevel(level) {
      family.level = level;
    },
  };
}

/** `family`: the level of a logger and its children, which pino gives each on its own. */
function wrap(logger: PinoLogger, family: { readonly level: LogLevel }): Logger {
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) => {
      if (logger.level !== family.level) logger.level = family.level;
      logger[level](fields, message);
    };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => wrap(logger.child(fields), family),
  };
}
