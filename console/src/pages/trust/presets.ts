/** What the form offers for each provider. The server has the rules; these are examples and defaults. */
export const providers = [
  'github',
  'gitlab',
  'kubernetes',
  'aws',
  'gcp',
  'azure',
  'spiffe',
  'custom',
] as const;
export type Provider = (typeof providers)[number];

interface Preset {
  readonly label: string;
  /** One sentence: which workloads this is for. */
  readonly about: string;
  /** The issuer, when the provider has one for all customers. */
  readonly issuer: string | undefined;
  readonly issuerExample: string;
  readonly subjectExample: string;
  /** What the subject must fix, as the server demands it. */
  readonly subjectForm: string;
  /** Claims that are useful in conditions. */
  readonly claims: readonly string[];
  /** Issuers of this provider whose keys a policy may name itself. */
  readonly ownKeys: boolean;
}

export const presets: Readonly<Record<Provider, Preset>> = {
  github: {
    label: 'GitHub Actions',
    about: 'Workflows of a repository. The job needs the permission id-token: write.',
    issuer: 'https://token.actions.githubusercontent.com',
    issuerExample: 'https://token.actions.githubusercontent.com',
    subjectExample: 'repo:octo-org/app:ref:refs/heads/main',
    subjectForm: 'repo:OWNER/REPOSITORY:… with a fixed owner',
    claims: ['repository', 'repository_id', 'repository_owner', 'workflow_ref', 'ref', 'environment'],
    ownKeys: false,
  },
  gitlab: {
    label: 'GitLab CI/CD',
    about:
      'Jobs of a project, with id_tokens in .gitlab-ci.yml. For your own GitLab, name its address as the issuer.',
    issuer: 'https://gitlab.com',
    issuerExample: 'https://gitlab.example.com',
    subjectExample: 'project_path:my-group/my-project:ref_type:branch:ref:main',
    subjectForm: 'project_path:GROUP/PROJECT:… with a fixed group',
    claims: ['project_path', 'project_id', 'namespace_path', 'ref', 'ref_protected', 'environment'],
    ownKeys: true,
  },
  kubernetes: {
    label: 'Kubernetes',
    about: 'Pods with a projected service account token.',
    issuer: undefined,
    issuerExample: 'https://kubernetes.default.svc.example.com',
    subjectExample: 'system:serviceaccount:production:screener',
    subjectForm: 'system:serviceaccount:NAMESPACE:NAME with a fixed namespace',
    claims: ['/kubernetes.io/namespace', '/kubernetes.io/serviceaccount/uid'],
    ownKeys: true,
  },
  aws: {
    label: 'AWS',
    about: 'Roles with outbound identity federation of IAM, or service accounts of EKS.',
    issuer: undefined,
    issuerExample: 'https://oidc.eks.eu-west-1.amazonaws.com/id/0A1B2C',
    subjectExample: 'arn:aws:iam::123456789012:role/screener',
    subjectForm: 'arn:aws:iam::ACCOUNT:role/NAME, or system:serviceaccount:NAMESPACE:NAME',
    claims: ['/https:~1~1sts.amazonaws.com~1/aws_account', '/https:~1~1sts.amazonaws.com~1/principal_id'],
    ownKeys: false,
  },
  gcp: {
    label: 'Google Cloud',
    about: 'Service accounts, with an identity token of the metadata server.',
    issuer: 'https://accounts.google.com',
    issuerExample: 'https://accounts.google.com',
    subjectExample: '112233445566778899001',
    subjectForm: "the service account's number",
    claims: ['email', '/google/compute_engine/project_id', '/google/compute_engine/instance_id'],
    ownKeys: false,
  },
  azure: {
    label: 'Microsoft Azure',
    about: 'Managed identities and applications of Entra ID.',
    issuer: undefined,
    issuerExample: 'https://login.microsoftonline.com/TENANT-ID/v2.0',
    subjectExample: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
    subjectForm: "the managed identity's or application's object id",
    claims: ['oid', 'xms_mirid', 'azp', 'appid', 'idtyp'],
    ownKeys: false,
  },
  spiffe: {
    label: 'SPIFFE',
    about: 'Workloads with a JWT-SVID of a SPIFFE trust domain.',
    issuer: undefined,
    issuerExample: 'https://oidc-discovery.example.org',
    subjectExample: 'spiffe://example.org/ns/production/screener',
    subjectForm: 'spiffe://TRUST-DOMAIN/PATH with a fixed trust domain and first step',
    claims: [],
    ownKeys: true,
  },
  custom: {
    label: 'Custom issuer',
    about: 'Any other OpenID issuer that publishes its keys.',
    issuer: undefined,
    issuerExample: 'https://issuer.example.com',
    subjectExample: 'workload-1',
    subjectForm: 'an exact subject, or one of which at least the first three characters are fixed',
    claims: [],
    ownKeys: true,
  },
};
