/**
 * What is known about the providers: where their tokens come from, and what in them says who the caller is. A policy that
 * pins nothing of that would let in every customer of the provider, and is refused.
 */

import type { Condition, Provider } from '../schema.ts';
import { nameOf, topOf } from './claims.ts';
import { isGlob, startsFixed } from './glob.ts';

interface Preset {
  /** Taken when a policy names none. */
  readonly issuer?: string;
  /** Claims of which one, pinned, says who the caller is. */
  readonly identifying: readonly string[];
  /** Claims that say so only beside another condition: equal to one of the values. */
  readonly identifyingWith?: {
    readonly claims: readonly string[];
    readonly claim: string;
    readonly value: string;
  };
  /** Whether this subject, or pattern, says so. */
  identifiedBy(subject: string): boolean;
  /** For whoever is refused. */
  readonly subjectForm: string;
}

/** The first word and what follows it: `repo:octo-org/app` → `repo`, `octo-org/app`. */
const cut = (subject: string): [string, string] => {
  const at = subject.indexOf(':');
  return at < 0 ? ['', subject] : [subject.slice(0, at), subject.slice(at + 1)];
};

const githubNames = [
  'repository',
  'repository_id',
  'repository_owner',
  'repository_owner_id',
  'workflow_ref',
];
const gitlabNames = ['project_path', 'project_id', 'namespace_path', 'namespace_id'];

const byNamedClaim = (subject: string, names: readonly string[]): boolean => {
  const [name, value] = cut(subject);
  return names.includes(name) && startsFixed(value);
};

const hasBeginning = (pattern: string) => !isGlob(pattern) || /^[^/:*]{3}/.test(pattern);

const isServiceAccount = (subject: string) => /^system:serviceaccount:[^/:*]+:[^/:]+$/.test(subject);

const presets: Readonly<Record<Provider, Preset>> = {
  github: {
    issuer: 'https://token.actions.githubusercontent.com',
    identifying: githubNames,
    // Whoever likes can call a repository the same; the owner, by name or by number, must be fixed.
    identifiedBy: (subject) =>
      /^repo:(?:[^/:*]+|[^/:]*@\d+)\/[^/:]+(?::|$)/.test(subject) || byNamedClaim(subject, githubNames),
    subjectForm: 'repo:OWNER/REPOSITORY:… with a fixed owner',
  },
  gitlab: {
    issuer: 'https://gitlab.com',
    identifying: gitlabNames,
    identifiedBy: (subject) => byNamedClaim(subject, gitlabNames),
    subjectForm: 'project_path:GROUP/PROJECT:… with a fixed group',
  },
  kubernetes: {
    identifying: ['/kubernetes.io/namespace', '/kubernetes.io/serviceaccount/uid'],
    identifiedBy: isServiceAccount,
    subjectForm: 'system:serviceaccount:NAMESPACE:NAME with a fixed namespace',
  },
  aws: {
    identifying: [
      '/https:~1~1sts.amazonaws.com~1/aws_account',
      '/https:~1~1sts.amazonaws.com~1/principal_id',
    ],
    identifiedBy: (subject) =>
      /^arn:aws[a-z-]*:(?:iam|sts)::\d{12}:.+/.test(subject) || isServiceAccount(subject),
    subjectForm:
      'arn:aws:iam::ACCOUNT:role/NAME (or system:serviceaccount:NAMESPACE:NAME) with a fixed account',
  },
  gcp: {
    issuer: 'https://accounts.google.com',
    // Not `azp`: in a service account's token it repeats the subject, but in a user's it is the OAuth client, gcloud's say,
    // and the same for all users of that client.
    identifying: ['email', '/google/compute_engine/project_id', '/google/compute_engine/instance_id'],
    identifiedBy: startsFixed,
    subjectForm: "the service account's number",
  },
  azure: {
    identifying: ['oid', 'xms_mirid'],
    // The application that asked for the token. It is the caller in app-only tokens; in delegated ones a user is, and everyone
    // in the directory can get a token with the id of a public client such as the Azure CLI.
    identifyingWith: { claims: ['azp', 'appid'], claim: 'idtyp', value: 'app' },
    identifiedBy: startsFixed,
    subjectForm: "the managed identity's or application's object id",
  },
  spiffe: {
    identifying: [],
    identifiedBy: (subject) => /^spiffe:\/\/[^/:*]+\/[^/:*]+(?:\/|$)/.test(subject),
    subjectForm: 'spiffe://TRUST-DOMAIN/PATH with a fixed trust domain and first step',
  },
  custom: {
    identifying: [],
    // Nothing is known of how this issuer's subjects are built: some fixed beginning must do.
    identifiedBy: (subject) => hasBeginning(subject) && !weak.has(cut(subject)[0]),
    subjectForm: 'an exact subject, or one of which at least the first three characters are fixed',
  },
};

/** Say when, for whom or from where, but not who. */
const weak: ReadonlySet<string> = new Set([
  ...['iss', 'aud', 'exp', 'nbf', 'iat', 'jti', 'typ', 'scope', 'nonce', 'auth_time', 'acr', 'amr'],
  ...['ref', 'ref_type', 'ref_protected', 'head_ref', 'base_ref', 'sha', 'environment', 'event_name'],
  ...['runner_environment', 'repository_visibility', 'pipeline_source', 'user_access_level'],
]);

export const defaultIssuer = (provider: Provider): string | undefined => presets[provider].issuer;

/** Why this does not say who the caller is; undefined when it does. */
export function identityProblem(
  provider: Provider,
  subject: string | null,
  conditions: readonly Condition[],
): string | undefined {
  const preset = presets[provider];
  if (subject !== null && preset.identifiedBy(subject)) return undefined;
  const identifying = [...preset.identifying, ...withCondition(preset, conditions)];
  if (conditions.some((condition) => pins(provider, { ...preset, identifying }, condition))) return undefined;
  const { claims: others = [], claim, value } = preset.identifyingWith ?? {};
  const more = others.length > 0 ? ` (${others.join(' or ')} only with ${claim} equals ${value})` : '';
  const claims =
    preset.identifying.length > 0 ? `, or a condition on ${preset.identifying.join(', ')}${more}` : '';
  const custom = provider === 'custom' ? ', or a condition on a claim that says who the caller is' : claims;
  return `does not say who the caller is: with ${provider} that takes ${preset.subjectForm}${custom}`;
}

/** The claims that say who the caller is because another condition holds as well. */
const withCondition = ({ identifyingWith }: Preset, conditions: readonly Condition[]): readonly string[] => {
  if (!identifyingWith) return [];
  const { claims, claim, value } = identifyingWith;
  const holds = conditions.some(
    ({ claim: named, operator, values = [] }) =>
      nameOf(named) === claim && operator === 'equals' && values.length === 1 && values[0] === value,
  );
  return holds ? claims : [];
};

function pins(provider: Provider, preset: Preset, { claim, operator, values = [] }: Condition): boolean {
  if (operator === 'exists' || values.length === 0) return false;
  const name = nameOf(claim);
  if (name === 'sub') return values.every((value) => preset.identifiedBy(value));
  const custom = provider === 'custom';
  const begins = custom ? hasBeginning : startsFixed;
  const says = custom
    ? !weak.has(topOf(claim))
    : [claim, name].some((word) => preset.identifying.includes(word));
  return says && values.every((value) => operator !== 'glob' || !isGlob(value) || begins(value));
}
