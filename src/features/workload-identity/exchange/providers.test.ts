/** Tokens in the form of each platform, through HTTP: the intended workload is admitted, a similar one is not. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../../test/support/harness.ts';
import { startIssuer } from '../../../../test/support/peers/issuers.ts';
import { createTrustClient } from '../../../../test/support/scenarios/trust.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const { createPolicy, exchange } = await createTrustClient(t);

type Claims = Record<string, unknown>;
interface Case {
  readonly provider: string;
  readonly policy: { subject?: string | null; conditions?: object[] };
  readonly claims: Claims;
  /** Changes that make it another workload, or the same one elsewhere. */
  readonly otherWorkloads: readonly Claims[];
}
const equals = (claim: string, value: string) => ({ claim, operator: 'equals', values: [value] });
const account = { sub: 'system:serviceaccount:prod:deployer' };
const kubernetes = (namespace: string, name: string) => ({
  sub: `system:serviceaccount:${namespace}:${name}`,
  'kubernetes.io': {
    namespace,
    serviceaccount: { name, uid: `uid-${namespace}-${name}` },
    pod: { name: 'p' },
  },
});
const aws = (accountId: string) => ({
  sub: `arn:aws:iam::${accountId}:role/deployer`,
  'https://sts.amazonaws.com/': {
    aws_account: accountId,
    principal_id: `arn:aws:iam::${accountId}:role/deployer`,
  },
});
const github = {
  sub: 'repo:octo-org/app:environment:prod',
  repository: 'octo-org/app',
  repository_owner: 'octo-org',
  ref: 'refs/heads/main',
  environment: 'prod',
};
const gitlab = {
  sub: 'project_path:group/project:ref_type:branch:ref:main',
  project_path: 'group/project',
  namespace_path: 'group',
  ref: 'main',
  ref_protected: 'true',
};

const cases: Case[] = [
  {
    provider: 'github',
    policy: {
      subject: null,
      conditions: [equals('repository', 'octo-org/app'), equals('ref', 'refs/heads/main')],
    },
    claims: github,
    otherWorkloads: [
      { repository: 'octo-org/app2' },
      { repository: 'mallory/app' },
      { ref: 'refs/heads/evil' },
      { ref: undefined },
      { repository: undefined },
    ],
  },
  {
    provider: 'gitlab',
    policy: {
      subject: 'project_path:group/*:ref_type:branch:ref:main',
      conditions: [equals('ref_protected', 'true')],
    },
    claims: gitlab,
    otherWorkloads: [
      { sub: 'project_path:mallory/project:ref_type:branch:ref:main' },
      { sub: 'project_path:group/sub/project:ref_type:branch:ref:main' },
      { sub: 'project_path:group/project:ref_type:branch:ref:evil' },
      { ref_protected: 'false' },
    ],
  },
  {
    provider: 'kubernetes',
    policy: { subject: account.sub, conditions: [equals('/kubernetes.io/namespace', 'prod')] },
    claims: kubernetes('prod', 'deployer'),
    otherWorkloads: [
      kubernetes('test', 'deployer'),
      kubernetes('prod', 'default'),
      { ...account, 'kubernetes.io': { namespace: 'test' } },
      { ...account, 'kubernetes.io': 'prod' },
    ],
  },
  {
    provider: 'aws',
    policy: {
      subject: null,
      conditions: [equals('/https:~1~1sts.amazonaws.com~1/aws_account', '123456789012')],
    },
    claims: aws('123456789012'),
    otherWorkloads: [aws('210987654321'), { 'https://sts.amazonaws.com/': {} }],
  },
  {
    provider: 'gcp',
    policy: { subject: null, conditions: [equals('email', 'deployer@project.iam.gserviceaccount.com')] },
    claims: {
      sub: '112233445566778899',
      azp: '112233445566778899',
      email: 'deployer@project.iam.gserviceaccount.com',
      email_verified: true,
    },
    otherWorkloads: [
      { email: 'deployer@other.iam.gserviceaccount.com' },
      { email: 'Deployer@project.iam.gserviceaccount.com' },
      { email: undefined },
    ],
  },
  {
    provider: 'azure',
    policy: { subject: null, conditions: [equals('oid', '8d7c0000-0000-4000-8000-000000000001')] },
    claims: {
      sub: '8d7c0000-0000-4000-8000-000000000001',
      oid: '8d7c0000-0000-4000-8000-000000000001',
      tid: 'tenant',
      xms_mirid: '/subscriptions/1/resourceGroups/g',
    },
    otherWorkloads: [{ oid: '8d7c0000-0000-4000-8000-000000000002' }, { oid: undefined }],
  },
  {
    provider: 'spiffe',
    policy: { subject: 'spiffe://prod.example/ns/payments/*' },
    claims: { sub: 'spiffe://prod.example/ns/payments/api' },
    otherWorkloads: [
      { sub: 'spiffe://test.example/ns/payments/api' },
      { sub: 'spiffe://prod.example/ns/other/api' },
      { sub: 'spiffe://prod.example/ns/payments/api/deeper' },
      { sub: 'spiffe://prod.example/ns/payments' },
    ],
  },
];

for (const { provider, policy: wanted, claims, otherWorkloads } of cases) {
  describe(provider, () => {
    it('200 for the intended workload, 400 invalid_grant for every similar one', async () => {
      const issuer = await startIssuer(t.clock);
      const { agentId } = await createPolicy({ provider, ...wanted }, issuer);
      const present = async (changes: Claims = {}) => {
        const token = await issuer.sign({ ...claims, ...changes });
        const answers = [await exchange(token, { client_id: agentId }), await exchange(token)];
        return answers.map(({ status }) => status);
      };
      assert.deepEqual(await present(), [200, 400], '200 a single time');
      for (const other of otherWorkloads)
        assert.deepEqual(await present(other), [400, 400], JSON.stringify(other));
    });
  });
}
