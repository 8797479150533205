/** The console: its sessions, links and files. */
import { fileURLToPath } from 'node:url';
import { createBuiltFiles } from '../adapters/built-files.ts';
import { type Console, createConsole } from '../features/console/feature.ts';
import { packageRoot } from '../kernel/package-root.ts';
import type { Events } from './events.ts';
import type { Foundations } from './foundations.ts';
import type { Issuance } from './issuance.ts';
import type { Registry } from './registry.ts';

/** The build: `dist/console` of the checkout, or of the published package. */
const build = fileURLToPath(new URL('dist/console/', packageRoot));

export function openConsole(
  base: Foundations,
  { ledger, recordRefusal }: Events,
  { organizations, credentials, people, connections, requirePermission }: Registry,
  { tokens, authorization }: Issuance,
  folder = build,
): Console {
  const { config, log, clock, ids, db, provider } = base;
  const { baseUrl, multiTenant, nodeEnv } = config;
  return createConsole({
    db,
    clock,
    ids,
    log,
    ledger,
    recordRefusal,
    provider,
    people,
    connections,
    requirePermission,
    continueRequest: authorization.continueRequest,
    findRequestPrompt: authorization.findRequestPrompt,
    settings: { baseUrl, multiTenant, dev: nodeEnv !== 'production' },
    files: createBuiltFiles(folder),
    findCredential: credentials.findBySecret,
    recordUse: credentials.recordUse,
    findEligibility: tokens.findEligibility,
    lockEligibility: tokens.lockEligibility,
    roleOf: organizations.roleOf,
  });
}
