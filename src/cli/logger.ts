/**
 * Logger over pino: JSON lines into a file, pretty lines on a terminal. It never throws: a process
 * serves on while its log cannot be written, as on a full disk, and says so on standard error.
 */
import { writeSync } from 'node:fs';
import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';
import pretty from 'pino-pretty';
import { messageOf } from '../common/errors.ts';
import { limits } from '../common/limits.ts';
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

/** `complain`: is told, once in a while, that lines cannot be written. */
export function createLogger(
  name: string,
  settings: LoggerSettings,
  complain: (line: string) => void = onStandardError,
): LevelledLogger {
  const options = { name, level: settings.level, base: { name } };
  const destination = settings.file
    ? forgiving({ dest: settings.file, mkdir: true }, complain)
    : process.stdout.isTTY
      ? pretty({ sync: true, ignore: 'pid,hostname' })
      : forgiving({ dest: 1 }, complain);
  const family = { level: settings.level };
  return {
    ...wrap(pino(options, destination), family),
    setLevel(level) {
      family.level = level;
    },
  };
}

const COMPLAIN_MS = 60_000;

/** Keeps the first lines that cannot be written, and writes them as soon as there is room. */
function forgiving(
  place: { readonly dest: string | number; readonly mkdir?: boolean },
  complain: (line: string) => void,
): DestinationStream {
  const destination = pino.destination({
    ...place,
    sync: true,
    maxLength: limits.logLinesKeptBytesMax,
  });
  let silentUntilMs = Number.NEGATIVE_INFINITY;
  // without a listener, pino throws the error at whoever logs
  destination.on('error', (error: unknown) => {
    if (performance.now() < silentUntilMs) return;
    silentUntilMs = performance.now() + COMPLAIN_MS;
    const where = typeof place.dest === 'string' ? place.dest : 'standard output';
    const kept = `the first ${limits.logLinesKeptBytesMax} bytes are kept, what follows is lost`;
    complain(`kvorum: ${where}: log lines cannot be written (${messageOf(error)}); ${kept}`);
  });
  let again = false;
  destination.on('drop', (line: string) => {
    if (again) return;
    again = true;
    // what is kept is tried with the next line that has room beside it: this has
    destination.write('');
    destination.write(line);
    again = false;
  });
  return destination;
}

/** Not by the stream: that ends the process later when its file is full as well. */
function onStandardError(line: string): void {
  try {
    writeSync(2, `${line}\n`);
  } catch {
    // then nobody can be told
  }
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
