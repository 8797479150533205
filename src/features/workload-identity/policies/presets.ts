/** Presets of the known providers: their issuer, and the claims and subjects that identify a caller. */

import { hasFixedFirstSegment, hasFixedPrefix } from '../../../kernel/conditions/glob.ts';
import type { Provider } from '../schema.ts';

export interface Preset {
  /** The default when a policy names none. */
  readonly issuer?: string;
  /** Claims that identify the caller; one of them is enough. */
  readonly identifying: readonly string[];
  /** Claims that identify the caller only together with the condition `claim` equals `value`. */
  readonly identifyingWith?: {
    readonly claims: readonly string[];
    readonly claim: string;
    readonly value: string;
  };
  /** Whether this subject, or pattern, identifies the caller. */
  isIdentifying(subject: string): boolean;
  /** The expected form, for the error message. */
  readonly subjectForm: string;
}

/** Splits at the first colon: `repo:octo-org/app` → `repo`, `octo-org/app`. */
const splitAtColon = (subject: string): [string, string] => {
  const at = subject.indexOf(':');
  return at < 0 ? ['', subject] : [subject.slice(0, at), subject.slice(at + 1)];
};

const githubClaims = [
  'repository',
  'repository_id',
  'repository_owner',
  'repository_owner_id',
  'workflow_ref',
];
const gitlabClaims = ['project_path', 'project_id', 'namespace_path', 'namespace_id'];

const startsWithClaim = (subject: string, claims: readonly string[]): boolean => {
  const [claim, value] = splitAtColon(subject);
  return claims.includes(claim) && hasFixedFirstSegment(value);
};

const isServiceAccount = (subject: string) => /^system:serviceaccount:[^/:*]+:[^/:]+$/.test(subject);

export const presets: Readonly<Record<Provider, Preset>> = {
  github: {
    issuer: 'https://token.actions.githubusercontent.com',
    identifying: githubClaims,
    // Anyone can create a repository of the same name; the owner, by name or by number, must be fixed.
    isIdentifying: (subject) =>
      /^repo:(?:[^/:*]+|[^/:]*@\d+)\/[^/:]+(?::|$)/.test(subject) || startsWithClaim(subject, githubClaims),
    subjectForm: 'repo:OWNER/REPOSITORY:… with a fixed owner',
  },
  gitlab: {
    issuer: 'https://gitlab.com',
    identifying: gitlabClaims,
    isIdentifying: (subject) => startsWithClaim(subject, gitlabClaims),
    subjectForm: 'project_path:GROUP/PROJECT:… with a fixed group',
  },
  kubernetes: {
    identifying: ['/kubernetes.io/namespace', '/kubernetes.io/serviceaccount/uid'],
    isIdentifying: isServiceAccount,
    subjectForm: 'system:serviceaccount:NAMESPACE:NAME with a fixed namespace',
  },
  aws: {
    identifying: [
      '/https:~1~1sts.amazonaws.com~1/aws_account',
      '/https:~1~1sts.amazonaws.com~1/principal_id',
    ],
    isIdentifying: (subject) =>
      /^arn:aws[a-z-]*:(?:iam|sts)::\d{12}:.+/.test(subject) || isServiceAccount(subject),
    subjectForm:
      'arn:aws:iam::ACCOUNT:role/NAME (or system:serviceaccount:NAMESPACE:NAME) with a fixed account',
  },
  gcp: {
    issuer: 'https://accounts.google.com',
    // Not `azp`: in a service account's token it repeats the subject, but in a user's it is the OAuth client, gcloud's say,
    // and the same for all users of that client.
    identifying: ['email', '/google/compute_engine/project_id', '/google/compute_engine/instance_id'],
    isIdentifying: hasFixedFirstSegment,
    subjectForm: "the service account's number",
  },
  azure: {
    identifying: ['oid', 'xms_mirid'],
    // The application that requested the token. It is the caller in app-only tokens. In delegated tokens the caller is a user:
    // every user of the directory can get a token with the id of a public client such as the Azure CLI.
    identifyingWith: { claims: ['azp', 'appid'], claim: 'idtyp', value: 'app' },
    isIdentifying: hasFixedFirstSegment,
    subjectForm: "the managed identity's or application's object id",
  },
  spiffe: {
    identifying: [],
    isIdentifying: (subject) => /^spiffe:\/\/[^/:*]+\/[^/:*]+(?:\/|$)/.test(subject),
    subjectForm: 'spiffe://TRUST-DOMAIN/PATH with a fixed trust domain and first step',
  },
  custom: {
    identifying: [],
    // The form of this issuer's subjects is unknown: a fixed prefix is required.
    isIdentifying: (subject) =>
      hasFixedPrefix(subject) && !nonIdentifyingClaims.has(splitAtColon(subject)[0]),
    subjectForm: 'an exact subject, or one of which at least the first three characters are fixed',
  },
};

/** Claims about time, audience or origin. They do not identify a caller. */
export const nonIdentifyingClaims: ReadonlySet<string> = new Set([
  ...['iss', 'aud', 'exp', 'nbf', 'iat', 'jti', 'typ', 'scope', 'nonce', 'auth_time', 'acr', 'amr'],
  ...['ref', 'ref_type', 'ref_protected', 'head_ref', 'base_ref', 'sha', 'environment', 'event_name'],
  ...['runner_environment', 'repository_visibility', 'pipeline_source', 'user_access_level'],
]);

export const defaultIssuer = (provider: Provider): string | undefined => presets[provider].issuer;
