/** Logger over pino: JSON lines into a file, pretty lines on a terminal. */
import { type Logger as PinoLogger, pino } from 'pino';
import pretty from 'pino-pretty';
import type { LogFields, Logger } from '../common/log.ts';

export interface LoggerSettings {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly file?: string | undefined;
}

export function createLogger(name: string, settings: LoggerSettings): Logger {
  const options = { name, level: settings.level, base: { name } };
  const destination = settings.file
    ? pino.destination({ dest: settings.file, mkdir: true, sync: true })
    : process.stdout.isTTY
      ? pretty({ sync: true, ignore: 'pid,hostname' })
      : pino.destination({ dest: 1, sync: true });
  return wrap(pino(options, destination));
}

function wrap(logger: PinoLogger): Logger {
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields: LogFields = {}) =>
      logger[level](fields, message);
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => wrap(logger.child(fields)),
  };
}
