import { SimpleGrid, Stack, Text } from '@mantine/core';
import type { Agent, DidDocument } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { CopyAs } from '../../../components/CopyAs.tsx';
import { ExternalLink } from '../../../components/ExternalLink.tsx';
import { exactTime } from '../../../components/exact-time.ts';
import { Facts } from '../../../components/Facts.tsx';
import { JsonView } from '../../../components/JsonView.tsx';
import { QueryState } from '../../../components/QueryState.tsx';
import { ScopeList } from '../../../components/ScopeList.tsx';
import { Section } from '../../../components/Section.tsx';
import { TenantText, visibleText } from '../../../components/TenantText.tsx';
import { Cards } from './Cards.tsx';

export function IdentityTab({ agent }: { readonly agent: Agent }) {
  const params = { agentId: agent.agentId };
  const isGone = agent.status === 'decommissioned';
  const did = useApi('getDid', { params }, { enabled: !isGone });
  return (
    <Stack gap="md">
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
        <Section title="Facts">
          <Facts
            facts={{
              'E-mail address': <TenantText text={agent.email} multiline />,
              'Display name': agent.displayName !== null && <TenantText text={agent.displayName} />,
              'Agent id': <code>{agent.agentId}</code>,
              Organization: <code>{agent.organizationId}</code>,
              Owner: <TenantText text={agent.owner} multiline />,
              Version: <TenantText text={agent.version} multiline />,
              Capabilities: <ScopeList scopes={agent.capabilities} />,
              'Scopes of the Countersign API': <ScopeList scopes={agent.allowedScopes} />,
              'Requests per minute':
                agent.rateLimitPerMinute?.toLocaleString('en') ?? "the server's limit for every agent",
              'Public keys': isGone ? 'none any more' : <OwnKeys document={did.data} />,
              'Acts for people': <ClientFacts agent={agent} />,
              'Proof of possession': agent.dpopBoundAccessTokens
                ? 'demanded: each token is bound to a key of the agent (DPoP)'
                : 'not demanded: the agent may ask for bearer tokens',
              'Learns of decisions':
                agent.notificationUri === null ? (
                  'by asking: it has no notification address'
                ) : (
                  <>
                    at <code>{visibleText(agent.notificationUri)}</code>
                  </>
                ),
              Registered: exactTime(agent.createdAt),
              'Last change': exactTime(agent.updatedAt),
            }}
          />
        </Section>
        <Section
          title="DID document"
          description="The agent's decentralized identifier, and the keys that speak for it"
          actions={<CopyAs operation="getDid" input={{ params }} />}
        >
          {isGone ? (
            <Text size="sm">
              The DID of a decommissioned agent is deactivated: it resolves to no document.
            </Text>
          ) : (
            <QueryState query={did} label="Loading the DID document">
              {(document) => <JsonView value={document} label="DID document" maxHeight={320} />}
            </QueryState>
          )}
        </Section>
      </SimpleGrid>
      <Cards agent={agent} did={did.data?.id} />
    </Stack>
  );
}

/** The agent as an OAuth client. Without redirect URIs no person can let it act for them. */
function ClientFacts({ agent: { redirectUris, publicClient, clientUri } }: { readonly agent: Agent }) {
  if (redirectUris.length === 0) return 'no: it has no redirect URIs';
  return (
    <Stack gap={2}>
      <span>
        {clientUri !== null
          ? 'as the document at its client address says'
          : 'after their consent, which goes to a redirect URI'}
        {publicClient ? '; public client, without a secret' : '; it authenticates itself'}
      </span>
      {clientUri !== null && (
        <span>
          Client address <ExternalLink href={clientUri} />
        </span>
      )}
      <ul aria-label="Redirect URIs">
        {redirectUris.map((uri) => (
          <li key={uri}>
            <code>{visibleText(uri)}</code>
          </li>
        ))}
      </ul>
    </Stack>
  );
}

/** The agent's own keys. The document also has those of the instance, which signs the cards. */
function OwnKeys({ document }: { readonly document: DidDocument | undefined }) {
  if (!document) return '…';
  const own = document.verificationMethod.filter(({ controller }) => controller === document.id);
  if (own.length === 0) return 'none: it authenticates with client secrets or through trust policies';
  return (
    <ScopeList scopes={own.map(({ publicKeyJwk: { kid, kty, crv } }) => `${kid ?? ''} (${crv ?? kty})`)} />
  );
}
