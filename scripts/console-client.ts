/** The console's tables of the contract, beside the types and operations of the SDK. */
import { apiCommands } from '../src/commands/client/api/api-commands.ts';
import { operationsOf } from '../src/commands/client/api/document.ts';
import { auditEvents, webhookEvents } from '../src/contract/events.ts';
import { limits, plans, planTiers, unlimited } from '../src/contract/limits.ts';
import { scopeDescriptions } from '../src/contract/scopes.ts';

export function consoleClient(document: object): string {
  const commands = apiCommands(operationsOf(document as Parameters<typeof operationsOf>[0]))
    .filter(({ isShortcut }) => !isShortcut)
    .map(({ operation, group, verb }) => `  ${operation.id}: '${group} ${verb}',`);
  return [
    '/** Generated from the route table by `npm run openapi`; do not edit. */',
    '',
    "import type { Operations } from '../../../sdk/typescript/src/generated.ts';",
    '',
    "export * from '../../../sdk/typescript/src/generated.ts';",
    '',
    '/** The command of `countersign` for an operation. */',
    'export const commandNames: Readonly<Partial<Record<keyof Operations, string>>> = {',
    ...commands,
    '};',
    '',
    '/** The types of the events that GET /events sends. */',
    `export const eventTypes = ${JSON.stringify(auditEvents, null, 2)} as const;`,
    '',
    'export type EventType = (typeof eventTypes)[number];',
    '',
    '/** The events that webhooks can receive. */',
    `export const webhookEventTypes = ${JSON.stringify(webhookEvents, null, 2)} as const;`,
    '',
    '/** The scopes of the API with their meaning. */',
    `export const scopeDescriptions = ${JSON.stringify(scopeDescriptions, null, 2)} as const;`,
    '',
    'export type Scope = keyof typeof scopeDescriptions;',
    '',
    `export const planTiers = ${JSON.stringify(planTiers)} as const;`,
    '',
    'export type PlanTier = (typeof planTiers)[number];',
    '',
    '/** Stands for no limit. */',
    `export const unlimited = ${unlimited};`,
    '',
    '/** The limits of each plan. */',
    `export const plans = ${JSON.stringify(plans, null, 2)} as const;`,
    '',
    '/** A session ends after this time without a request. */',
    `export const sessionIdleSeconds = ${limits.console.idleSeconds};`,
    '',
  ].join('\n');
}
