import { Anchor, Button, Code, Group, Progress, Stack, Switch, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { PageLink, usePageSearch } from '../../app/navigation.tsx';
import { useSession } from '../../app/session-context.tsx';
import { ErrorState } from '../../components/ErrorState.tsx';
import { exactTime } from '../../components/exact-time.ts';
import { Facts } from '../../components/Facts.tsx';
import { Icon } from '../../components/Icon.tsx';
import { IconButton } from '../../components/IconButton.tsx';
import classes from './Audit.module.css';
import { auditPage } from './page.ts';
import type { Verdict } from './proof/verify.ts';
import { forget } from './remembered.ts';
import { useVerification, type VerificationState } from './use-verification.ts';
import { Witnesses } from './Witnesses.tsx';

interface VerifyPanelProps {
  readonly organizationId: string;
  /** False when an operator looks at another organization. */
  readonly isOwn: boolean;
}

type Done = Extract<VerificationState, { step: 'done' }>;

/** The proof: this browser computes every hash again and checks every signature. */
export function VerifyPanel({ organizationId, isOwn }: VerifyPanelProps) {
  const { dev } = useSession();
  const { state, start, cancel } = useVerification(organizationId);
  const [demonstrate, setDemonstrate] = useState(false);
  return (
    <section className={classes.panel} aria-label="Verification">
      <div className={classes.head}>
        <div className={classes.intro}>
          <Title order={2}>Is the log intact?</Title>
          <Text size="sm" c="dimmed" maw="46rem">
            Your browser fetches {isOwn ? 'your organization’s log' : 'the log of this organization'},
            computes every hash again and checks every signature. It does not rely on the server’s own check.
          </Text>
        </div>
        <Group gap="sm">
          {dev && (
            <Switch
              label="Demo: change one event"
              checked={demonstrate}
              onChange={(event) => setDemonstrate(event.currentTarget.checked)}
              size="xs"
            />
          )}
          {state.step === 'running' ? (
            <Button variant="default" onClick={cancel}>
              Cancel
            </Button>
          ) : (
            <IconButton icon="compliance" onClick={() => start(demonstrate)}>
              {state.step === 'idle' ? 'Verify in this browser' : 'Verify again'}
            </IconButton>
          )}
        </Group>
      </div>
      {state.step === 'running' && <Running {...state} />}
      {state.step === 'failed' && (
        <ErrorState
          error={state.error}
          title="The log could not be read"
          onRetry={() => start(demonstrate)}
        />
      )}
      <div role="status">
        {state.step === 'done' && <Result {...state} organizationId={organizationId} />}
      </div>
      <Witnesses />
    </section>
  );
}

/** The server may know more: a process that has seen events which are gone. */
const statusOf = ({ verdict, server }: Done): Verdict['status'] =>
  verdict.status === 'intact' && server === false ? 'broken' : verdict.status;

const count = (number: number): string => number.toLocaleString('en');
const plural = (number: number, noun: string): string => `${count(number)} ${noun}${number === 1 ? '' : 's'}`;

function Running({ progress, waitsSeconds }: Extract<VerificationState, { step: 'running' }>) {
  const share = progress && progress.size > 0 ? (100 * progress.checked) / progress.size : 0;
  return (
    <Stack gap={4} mt="sm">
      <Progress value={share} aria-label="Events checked" animated={share === 0} />
      <Text size="xs" c="dimmed" role="status">
        {progress
          ? `${count(progress.checked)} of ${plural(progress.size, 'event')} checked`
          : 'Fetching keys and events…'}
        {waitsSeconds !== undefined && ` – the rate limit is reached, going on in ${waitsSeconds} seconds`}
      </Text>
    </Stack>
  );
}

function Result(props: Done & { readonly organizationId: string }) {
  const { verdict, server, demonstrated } = props;
  const status = statusOf(props);
  return (
    <Stack gap={4} mt="sm">
      <div className={classes.verdict} data-status={status}>
        <Icon name={status === 'intact' ? 'check' : 'warning'} />
        {status === 'intact' ? 'Intact' : status === 'broken' ? 'Not intact' : 'Not proven'}
      </div>
      {verdict.status === 'intact' && <IntactFacts {...props} verdict={verdict} />}
      {verdict.status === 'broken' && <BrokenFacts {...props} verdict={verdict} />}
      {verdict.status === 'unproven' && (
        <Text size="sm">
          The signatures could not be checked: {verdict.reason}. Use another browser, or{' '}
          <Code>countersign audit verify</Code> on an export.
        </Text>
      )}
      {demonstrated && (
        <Text size="xs" c="dimmed">
          Demonstration: one event was changed in the copy that this browser fetched. The log itself is as it
          was.
        </Text>
      )}
      {verdict.status === 'broken' && server === true && !demonstrated && (
        <Text size="xs" c="dimmed">
          The server’s own check says that the log is intact. This browser does not agree.
        </Text>
      )}
    </Stack>
  );
}

function IntactFacts({
  verdict,
  server,
  at,
}: Done & { readonly verdict: Extract<Verdict, { status: 'intact' }> }) {
  const { events, checkpoints, signatures, startsAfter, newest } = verdict;
  if (server === false)
    return (
      <Text size="sm">
        This browser found nothing wrong in what is left of the log, but the server reports that it is not
        intact: it has seen events that are gone. Keep a copy of the database before you go on.
      </Text>
    );
  return (
    <>
      <ul className={classes.checks}>
        <li>{plural(events, 'event')}: each hash computed again, none missing, none added</li>
        <li>
          {plural(checkpoints, 'checkpoint')} in order, {plural(signatures, 'signature')} valid for the
          published keys
        </li>
        {startsAfter > 0 && (
          <li>{plural(startsAfter, 'older event')} dropped by retention, under a signed anchor</li>
        )}
      </ul>
      <Text size="xs" c="dimmed">
        Checked {exactTime(at)}.
        {newest &&
          ` This browser now remembers checkpoint ${count(newest.number)} and will notice if the end of the log is removed.`}
        {server === true && ' The server’s own check agrees.'}
      </Text>
    </>
  );
}

function BrokenFacts({
  verdict,
  organizationId,
  demonstrated,
}: Done & {
  readonly organizationId: string;
  readonly verdict: Extract<Verdict, { status: 'broken' }>;
}) {
  const [search] = usePageSearch(auditPage);
  const { code, message, sequence, eventId, checkpoint } = verdict.finding;
  return (
    <>
      <Text size="sm">
        {sequence !== undefined && <b>Position {count(sequence)}: </b>}
        {message}
      </Text>
      <Facts
        facts={{
          Code: <code>{code}</code>,
          Checkpoint: checkpoint !== undefined && count(checkpoint),
          Event: eventId !== undefined && (
            <Anchor
              component={PageLink}
              inherit
              to={auditPage.path}
              search={{
                selected: eventId,
                ...(search.organizationId && { organizationId: search.organizationId }),
              }}
            >
              <code>{eventId}</code>
            </Anchor>
          ),
          'Before it': `${plural(verdict.checked, 'event')} in order`,
        }}
      />
      {code === 'CHECKPOINT_LOST' && (
        <Group>
          <Button variant="default" onClick={() => forget(organizationId)}>
            Forget the checkpoint
          </Button>
          <Text size="xs" c="dimmed">
            Only if you know why the log is shorter, for example after you restored a backup.
          </Text>
        </Group>
      )}
      {!demonstrated && code !== 'CHECKPOINT_LOST' && (
        <Text size="xs" c="dimmed">
          Keep a copy of the database before you change anything.
        </Text>
      )}
    </>
  );
}
