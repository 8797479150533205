import { Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { exactTime } from '../../components/exact-time.ts';
import { Facts } from '../../components/Facts.tsx';
import { Icon } from '../../components/Icon.tsx';
import { QueryState } from '../../components/QueryState.tsx';
import classes from './Audit.module.css';
import { NameList } from './NameList.tsx';
import type { KeySources } from './proof/log-keys.ts';
import type { BrokenFile, FileVerdict, IntactFile } from './proof/verify-file.ts';
import { TrustedKeysButton } from './TrustedKeys.tsx';
import { type JudgedFile, useWitnessing } from './use-witnessing.ts';
import { WitnessGuide } from './WitnessGuide.tsx';

const count = (number: number): string => number.toLocaleString('en');
const plural = (number: number, noun: string): string => `${count(number)} ${noun}${number === 1 ? '' : 's'}`;

interface FileOutcomeProps {
  readonly verdict: FileVerdict;
  readonly date: string | undefined;
}

/** The result of a verification of a file, in words. */
export function FileOutcome({ verdict, date }: FileOutcomeProps) {
  if (verdict.status === 'broken') return <Broken verdict={verdict} />;
  if (verdict.status === 'intact') return <Intact verdict={verdict} date={date} />;
  return (
    <Outcome status="unproven" title="Not proven">
      <Text size="sm">
        The signatures could not be checked: {verdict.reason}. Use another browser, or{' '}
        <code>countersign audit verify</code> on the file.
      </Text>
    </Outcome>
  );
}

interface OutcomeProps {
  readonly status: FileVerdict['status'];
  readonly title: ReactNode;
  readonly children: ReactNode;
}

const Outcome = ({ status, title, children }: OutcomeProps) => (
  <Stack gap={6}>
    <div className={classes.verdict} data-status={status}>
      <Icon name={status === 'intact' ? 'check' : 'warning'} />
      <span>{title}</span>
    </div>
    {children}
  </Stack>
);

interface IntactProps {
  readonly verdict: IntactFile;
  readonly date: string | undefined;
}

function Intact(props: IntactProps) {
  const query = useWitnessing(props.verdict.logCheckpoint);
  return (
    <QueryState
      query={query}
      label="Loading the keys of the witnesses"
      rows={2}
      errorTitle="The witnesses could not be checked"
    >
      {(judged) => <Judged {...props} judged={judged} />}
    </QueryState>
  );
}

function Judged({
  verdict,
  date,
  judged: { witnessing, sources },
}: IntactProps & { readonly judged: JudgedFile }) {
  const { events, chains, logEvents } = verdict;
  const newer = events - logEvents;
  const checks = (
    <ul className={classes.checks}>
      <li>
        {plural(events, 'event')}
        {chains > 1 && ` in ${plural(chains, 'organization')}`}
        {date && ` of ${date}`}: each hash computed again, none missing, none added
      </li>
      <li>Every checkpoint and the end of the file are signed by keys of this server</li>
      {date && <li>The SHA-256 of the file is the one in the list</li>}
      {witnessing.status === 'witnessed' && newer > 0 && (
        <li>{plural(newer, 'event')} not witnessed yet: newer than the checkpoint of the witnesses</li>
      )}
    </ul>
  );
  const keys = <KeysSentence sources={sources} />;
  if (witnessing.status === 'wrong')
    return (
      <Outcome status="broken" title="Not intact">
        <Text size="sm">
          The checkpoint of the instance log in this file has a signature that is not that of its key:{' '}
          {witnessing.reason}.
        </Text>
        {keys}
      </Outcome>
    );
  if (witnessing.status === 'missing')
    return (
      <Outcome status="unproven" title="Intact, but not witnessed">
        {checks}
        <Text size="sm">
          {witnessing.reason} Without witnesses, this server could have written another history with its own
          keys. See <WitnessGuide />.
        </Text>
        {keys}
      </Outcome>
    );
  return (
    <Outcome
      status="intact"
      title={
        witnessing.status === 'witnessed' ? (
          <>
            Intact and witnessed at {exactTime(witnessing.time)} by <NameList names={witnessing.witnesses} />
          </>
        ) : (
          'Intact'
        )
      }
    >
      {checks}
      {witnessing.status === 'witnessed' ? (
        keys
      ) : (
        <Group gap="xs">
          <Text size="xs" c="dimmed">
            {witnessing.isInLog
              ? 'The instance log has signed that it has these events. This server names no witnesses.'
              : 'This server names no witnesses.'}
          </Text>
          <TrustedKeysButton />
        </Group>
      )}
    </Outcome>
  );
}

function KeysSentence({ sources: { logs, witnesses } }: { readonly sources: KeySources }) {
  return (
    <Group gap="xs">
      <Text size="xs" c="dimmed">
        {witnesses === 'server'
          ? 'Checked with the keys of witnesses that this server names.'
          : logs === 'server'
            ? 'Checked with the keys of witnesses that you trust, and with the key of the log that this server names.'
            : 'Checked with the keys that you trust.'}
      </Text>
      <TrustedKeysButton />
    </Group>
  );
}

function Broken({ verdict }: { readonly verdict: BrokenFile }) {
  const { finding, checked, line, isAsListed } = verdict;
  const { code, message, sequence, eventId, checkpoint } = finding;
  return (
    <Outcome status="broken" title="Not intact">
      <Text size="sm">
        {sequence !== undefined && <b>Position {count(sequence)}: </b>}
        {message}
        {isAsListed === false &&
          code !== 'FILE_CHANGED' &&
          ' The file is not the one that was archived: its SHA-256 is not the one in the list.'}
        {isAsListed === true &&
          ' The SHA-256 of the file is the one in the list, so the file was archived like this.'}
      </Text>
      <Facts
        facts={{
          Code: <code>{code}</code>,
          Line: line !== undefined && count(line),
          Checkpoint: checkpoint !== undefined && count(checkpoint),
          Event: eventId !== undefined && <code>{eventId}</code>,
          'Before it': `${plural(checked, 'event')} in order`,
        }}
      />
      <Text size="xs" c="dimmed">
        Keep this file, and compare it with another copy.
      </Text>
    </Outcome>
  );
}
