/** The console's tables of the contract, beside the types and operations of the SDK. */
import { auditEvents, webhookEvents } from '../src/contract/events.ts';
import { limits, plans, planTiers, unlimited } from '../src/contract/limits.ts';
import { scopeDescriptions } from '../src/contract/scopes.ts';

export function consoleClient(): string {
  return [
    '/** Generated from the route table by `npm run openapi`; do not edit. */',
    '',
    "export * from '../../../sdk/typescript/src/generated.ts';",
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
