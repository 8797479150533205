/** The policy engine on Cedar. Policies are validated against the schema at start, except the shipped ones; decisions are cached. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { DetailedError } from '@cedar-policy/cedar-wasm/nodejs';
import type { Log } from '../kernel/observability/log.ts';
import type { Metrics } from '../kernel/observability/metrics.ts';
import {
  type PolicyEngine,
  PolicyProblem,
  type PolicyRequest,
  type PolicyResource,
} from '../kernel/policy.ts';

/** Cedar stores parsed sets by name for the whole process; each engine uses its own name. */
let engines = 0;
const maxCachedDecisions = 10_000;

/** SHA-256 of the shipped schema and policies, which cedar.test.ts validates. */
export const shippedPolicies = 'ed06f002017bf878ca04b9c940a817a50600ccb1cf0aca6e4e34f5891ff2f01a';

type Cedar = typeof import('@cedar-policy/cedar-wasm/nodejs');

const require = createRequire(import.meta.url);
/** Synchronous, because `allows` is. */
const loadCedar = (): Cedar => require('@cedar-policy/cedar-wasm/nodejs');

/**
 * `folder` holds the `.cedar` files; the schema is always ours. The shipped policies are parsed at the first decision, which saves
 * 15 % of the CPU time of a start and 14 of 136 MB; that decision takes 90 ms. Other policies are validated at once: a server with
 * invalid ones does not start.
 */
export function createCedar(options: {
  folder: string;
  schemaFile: string;
  log: Log;
  metrics?: Metrics;
}): PolicyEngine {
  const { folder, schemaFile, log, metrics } = options;
  const cache = 'policy_decisions';
  const countHit = metrics?.counter('service_cache_lookups_total', { cache, result: 'hit' });
  const countMiss = metrics?.counter('service_cache_lookups_total', { cache, result: 'miss' });
  const schema = readFileSync(schemaFile, 'utf8');
  const policies = readPolicies(folder);
  const setId = `countersign-${++engines}`;
  let cedar: Cedar | undefined;
  const open = (): Cedar => {
    const loaded = loadCedar();
    parse(loaded, folder, schema, policies, setId);
    return loaded;
  };
  if (digestOf(schema, policies) !== shippedPolicies) {
    validatePolicies(loadCedar(), folder, schema, policies);
    cedar = open();
  }

  const decisions = new Map<string, boolean>();
  const cacheDecision = (key: string, decision: boolean) => {
    // Evicts the oldest: a Map keeps insertion order.
    if (decisions.size >= maxCachedDecisions) decisions.delete(decisions.keys().next().value ?? '');
    decisions.set(key, decision);
    return decision;
  };

  return {
    allows(question) {
      const key = JSON.stringify(question);
      const cached = decisions.get(key);
      if (cached !== undefined) {
        countHit?.();
        return cached;
      }
      countMiss?.();
      try {
        cedar ??= open();
        return cacheDecision(key, decide(cedar, question, setId, log));
      } catch (error) {
        log.error({ err: error, action: question.action }, 'policy engine failed; request refused');
        return false;
      }
    },
  };
}

function decide(cedar: Cedar, question: PolicyRequest, setId: string, log: Log): boolean {
  const { agentId, organizationId, scopes, role, action, resource } = question;
  const organization = { type: 'Organization', id: organizationId };
  const principal = { type: 'Agent', id: agentId };
  const answer = cedar.statefulIsAuthorized({
    principal,
    action: { type: 'Action', id: action },
    resource: uidOf(resource),
    context: {},
    preparsedSchemaName: setId,
    validateRequest: true,
    preparsedPolicySetId: setId,
    entities: [
      {
        uid: principal,
        attrs: { organization: { __entity: organization }, scopes: [...scopes], role },
        parents: [],
      },
      ...uniqueEntities([organization, uidOf(resource)]),
    ],
  });
  if (answer.type === 'failure') throw new Error(messagesOf(answer.errors));
  const { decision, diagnostics } = answer.response;
  if (diagnostics.errors.length > 0)
    log.warn({ action, errors: diagnostics.errors }, 'a policy could not be evaluated; request refused');
  // The policy that failed might forbid the action.
  return decision === 'allow' && diagnostics.errors.length === 0;
}

const uidOf = (resource: PolicyResource) =>
  resource.type === 'Instance' ? { type: 'Instance', id: 'this' } : { type: resource.type, id: resource.id };

function uniqueEntities(uids: { type: string; id: string }[]) {
  const byText = new Map(uids.map((uid) => [`${uid.type}::${uid.id}`, uid]));
  return [...byText.values()].map((uid) => ({ uid, attrs: {}, parents: [] }));
}

/** By file name, which messages repeat so that an operator finds the line. */
export function readPolicies(folder: string): Record<string, string> {
  let files: string[];
  try {
    files = readdirSync(folder)
      .filter((file) => file.endsWith('.cedar'))
      .sort();
  } catch (error) {
    throw new PolicyProblem(
      `the policies in ${folder} cannot be read (${(error as NodeJS.ErrnoException).code})`,
    );
  }
  if (files.length === 0)
    throw new PolicyProblem(`there is no .cedar file in ${folder}: every request would be refused`);
  return Object.fromEntries(files.map((file) => [file, readFileSync(join(folder, file), 'utf8')]));
}

export const digestOf = (schema: string, policies: Record<string, string>): string =>
  createHash('sha256')
    .update(JSON.stringify([schema, policies]))
    .digest('hex');

function validatePolicies(
  cedar: Cedar,
  folder: string,
  schema: string,
  policies: Record<string, string>,
): void {
  for (const [file, text] of Object.entries(policies)) {
    const answer = cedar.validate({ schema, policies: { staticPolicies: text } });
    const problems =
      answer.type === 'failure'
        ? messagesOf(answer.errors)
        : answer.validationErrors.map(({ policyId, error }) => `${policyId}: ${error.message}`).join('; ');
    if (problems) throw new PolicyProblem(`${join(folder, file)} is not a valid policy file: ${problems}`);
  }
}

function parse(
  cedar: Cedar,
  folder: string,
  schema: string,
  policies: Record<string, string>,
  setId: string,
): void {
  const all = Object.values(policies).join('\n');
  const schemaAnswer = cedar.preparseSchema(setId, schema);
  for (const answer of [schemaAnswer, cedar.preparsePolicySet(setId, { staticPolicies: all })]) {
    if (answer.type === 'failure')
      throw new PolicyProblem(`the policies in ${folder}: ${messagesOf(answer.errors)}`);
  }
}

const messagesOf = (errors: readonly DetailedError[]) =>
  errors.map(({ message, help }) => (help ? `${message} (${help})` : message)).join('; ');
