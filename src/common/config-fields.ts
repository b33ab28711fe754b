/** Settings that several processes have, each with its check and error text. */
import { z } from 'zod';
import { haveOneScheme, STORE_URL_WANTED, STORE_URLS_WANTED, storeUrl } from './store-urls.ts';

export const portField = z.number().int().min(0).max(65_535);

/** Of a datanode or placedriver. */
export const nameField = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
    'letters, digits, dot, dash and underscore, 63 at most',
  );

/** A name or an address, without a port. */
export const hostField = z
  .string()
  .regex(/^[A-Za-z0-9._:%-]{1,255}$/, 'a host name or address without a port, as 10.1.0.1');

/** Every way to write that all addresses are meant, as `0.0.0.0` and `::`. */
const EVERY_ADDRESS = /^(?:::ffff:)?[0:.]+$/i;

/** The address that others are told: to them, `0.0.0.0` is their own machine. */
export const toldHostField = hostField.refine((host) => !EVERY_ADDRESS.test(host), {
  error: ({ input }) =>
    `${input} is no address that others can reach: put it in \`listen\`, and their way to here in this`,
});

/** Of the metadata store: each once, with its scheme and without a slash at its end. */
export const endpointsField = z
  .array(z.string().refine((text) => storeUrl(text) !== undefined, STORE_URL_WANTED))
  .min(1)
  .refine(haveOneScheme, STORE_URLS_WANTED)
  .transform((texts) => [...new Set(texts.map((text) => storeUrl(text) ?? text))]);

/** Where name, pid and ports are told to `kvorum status`; none when absent. */
export const runFileField = z.string().optional();

/** The process's own log. */
export const logField = z
  .strictObject({
    level: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
    /** JSON lines go here; to standard output when absent. */
    file: z.string().optional(),
  })
  .default({ level: 'info' });

/** The first two ports that are the same; 0 is any free port, and never the same. */
export function samePorts(ports: Readonly<Record<string, number>>): [string, string] | undefined {
  const names = Object.keys(ports);
  for (const [at, name] of names.entries()) {
    const other = names.slice(0, at).find((before) => ports[before] === ports[name]);
    if (other !== undefined && ports[name] !== 0) return [other, name];
  }
  return undefined;
}
