/**
 * What an orchestrator and a monitor ask of every process: /livez, /readyz and /metrics. They are
 * answered by the event loop that serves clients, so an answer says that it turns.
 */
import type { FastifyInstance } from 'fastify';

export interface Readiness {
  readonly ready: boolean;
  /** Why it is not, or what limps though it is; at most PROBE_REASONS_MAX. */
  readonly reasons: readonly string[];
}

export interface Probes {
  readiness(): Readiness | Promise<Readiness>;
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
}

/** A body of reasons that a person reads: the rest are a number. */
const PROBE_REASONS_MAX = 16;

export function boundedReasons(reasons: readonly string[]): readonly string[] {
  if (reasons.length <= PROBE_REASONS_MAX) return reasons;
  const shown = reasons.slice(0, PROBE_REASONS_MAX - 1);
  return [...shown, `and ${reasons.length - shown.length} more`];
}

export function addProbeRoutes(app: FastifyInstance, probes: Probes): void {
  app.get('/livez', async (_request, reply) => reply.type('text/plain').send('OK'));
  app.get('/readyz', async (_request, reply) => {
    const { ready, reasons } = await probes.readiness();
    return reply.code(ready ? 200 : 503).send({ ready, reasons: boundedReasons(reasons) });
  });
  app.get('/metrics', async (_request, reply) => {
    const text = await probes.metrics.text();
    return reply.type(probes.metrics.contentType).send(text);
  });
}
