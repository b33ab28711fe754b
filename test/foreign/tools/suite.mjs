/**
 * Tools that people run beside Redis: Debian's prometheus-redis-exporter 1.45.0, and what moves data from a
 * redis-server 7.0.15 into the cluster. redis-cli and redis-benchmark are tried by test/cluster.
 *
 * Not tried: the exporter's groups of keys (a script), and what copies a server with SYNC.
 */
import { tryExporter } from './exporter.mjs';
import { tryMigration } from './migration.mjs';

await tryExporter();
await tryMigration();
