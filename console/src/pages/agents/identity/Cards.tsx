/** The agent's card in each format. Signatures are checked here, in the browser, with the published keys. */
import {
  Alert,
  Badge,
  Group,
  List,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  ThemeIcon,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Agent } from '../../../api/generated.ts';
import { call, sendJson } from '../../../api/request.ts';
import { CopyAs } from '../../../components/CopyAs.tsx';
import { ErrorState } from '../../../components/ErrorState.tsx';
import { Icon } from '../../../components/Icon.tsx';
import { JsonView } from '../../../components/JsonView.tsx';
import { LoadingState } from '../../../components/LoadingState.tsx';
import { QueryState } from '../../../components/QueryState.tsx';
import { Section } from '../../../components/Section.tsx';
import { visibleText } from '../../../components/TenantText.tsx';
import {
  type CardVerification,
  type InstanceDocument,
  type SignedFormat,
  verifyCard,
} from './verify-card.ts';
import { canVerify } from './verify-jws.ts';

const formats = [
  { value: 'badge', label: 'Badge' },
  { value: 'a2a', label: 'A2A card' },
  { value: 'oasf', label: 'OASF record' },
  { value: 'plain', label: 'Plain card' },
];

/** Where third parties find the keys: the DID document of the instance. */
const instanceDocument = '/.well-known/did.json';

async function fetchVerified(agentId: string, format: SignedFormat, did: string, signal: AbortSignal) {
  const card = await call('getAgentCard', { params: { agentId }, query: { format } }, { signal });
  const instance = (await sendJson('GET', instanceDocument, undefined, { signal })) as InstanceDocument;
  return { card, verification: await verifyCard(format, card, { did, instance, now: Date.now() }) };
}

export function Cards({ agent, did }: { readonly agent: Agent; readonly did: string | undefined }) {
  const [format, setFormat] = useState('badge');
  const { agentId, status, updatedAt } = agent;
  const input = { params: { agentId }, query: format === 'plain' ? {} : { format: format as SignedFormat } };
  const isSigned = format !== 'plain';
  return (
    <Section
      title="Cards"
      description="How others learn about this agent. Signatures are checked in this browser with the keys that this server publishes."
      actions={<CopyAs operation="getAgentCard" input={input} />}
    >
      {status === 'decommissioned' ? (
        <Text size="sm">A decommissioned agent has no cards.</Text>
      ) : (
        <Stack>
          <SegmentedControl
            data={formats}
            value={format}
            onChange={setFormat}
            aria-label="Format of the card"
            size="xs"
            maw="100%"
            style={{ alignSelf: 'flex-start', overflowX: 'auto' }}
          />
          {isSigned && status === 'suspended' ? (
            <Text size="sm">Nothing is signed for a suspended agent. Its plain card is still there.</Text>
          ) : isSigned ? (
            did && (
              <SignedCard
                key={`${format} ${updatedAt}`}
                agentId={agentId}
                format={format as SignedFormat}
                did={did}
              />
            )
          ) : (
            <PlainCard agentId={agentId} updatedAt={updatedAt} />
          )}
        </Stack>
      )}
    </Section>
  );
}

function SignedCard({
  agentId,
  format,
  did,
}: {
  readonly agentId: string;
  readonly format: SignedFormat;
  readonly did: string;
}) {
  const { data, error, refetch } = useQuery({
    queryKey: ['verifiedCard', agentId, format],
    queryFn: ({ signal }) => fetchVerified(agentId, format, did, signal),
    enabled: canVerify(),
    // A badge is signed anew for each request.
    staleTime: 0,
    refetchOnWindowFocus: false,
  });
  if (!canVerify())
    return (
      <Alert color="yellow" icon={<Icon name="warning" />} title="This browser cannot check signatures here">
        Browsers offer cryptography only on https:// and on localhost. Open the console there.
      </Alert>
    );
  if (error)
    return <ErrorState error={error} title="The card could not be loaded" onRetry={() => void refetch()} />;
  if (!data) return <LoadingState label="Checking the signature" rows={3} />;
  const { card, verification } = data;
  return (
    <>
      <CardVerdict verification={verification} />
      <SimpleGrid cols={{ base: 1, lg: format === 'badge' ? 2 : 1 }} spacing="md">
        {format === 'badge' && (
          <JsonView value={verification.content ?? null} label="Signed content" maxHeight={360} />
        )}
        <JsonView value={card} label="Card as published" maxHeight={360} />
      </SimpleGrid>
    </>
  );
}

function PlainCard({ agentId, updatedAt }: { readonly agentId: string; readonly updatedAt: string }) {
  const query = useQuery({
    queryKey: ['plainCard', agentId, updatedAt],
    queryFn: ({ signal }) => call('getAgentCard', { params: { agentId } }, { signal }),
  });
  return (
    <QueryState query={query} label="Loading the card" rows={3} errorTitle="The card could not be loaded">
      {(card) => (
        <>
          <Group gap="xs">
            <Badge color="gray" tt="none">
              Not signed
            </Badge>
            <Text size="sm">
              The plain card has no signature. Use one of the others to prove who the agent is.
            </Text>
          </Group>
          <JsonView value={card} label="Card as published" maxHeight={360} />
        </>
      )}
    </QueryState>
  );
}

/** Verified or not, and each check. */
function CardVerdict({ verification }: { readonly verification: CardVerification }) {
  const { verified, checks } = verification;
  return (
    <Alert
      color={verified ? 'green' : 'red'}
      icon={<Icon name={verified ? 'check' : 'warning'} />}
      title={verified ? 'Verified in this browser' : 'Not verified: do not trust this card'}
      {...(!verified && { role: 'alert' })}
    >
      <List size="sm" spacing={4} center aria-label="Checks">
        {checks.map(({ label, ok, detail }) => (
          <List.Item
            key={label}
            icon={
              <ThemeIcon size={18} radius="xl" color={ok ? 'green.8' : 'red.8'}>
                <Icon name={ok ? 'check' : 'close'} size={12} />
              </ThemeIcon>
            }
          >
            {label}: {ok ? 'yes' : 'no'}
            <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
              {visibleText(detail)}
            </Text>
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}
