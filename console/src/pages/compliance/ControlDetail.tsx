import { Stack, Text } from '@mantine/core';
import { PageLink } from '../../app/navigation.tsx';
import { controlRemedies } from '../../components/control-remedies.ts';
import { exactTime } from '../../components/exact-time.ts';
import { Facts } from '../../components/Facts.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import classes from './Compliance.module.css';
import { type Control, evidence } from './evidence.ts';

/** The evidence of one control: its result, when and how it was found, and what to do when it fails. */
export function ControlDetail({
  id,
  control,
}: {
  readonly id: string;
  readonly control: Control | undefined;
}) {
  if (!control) return <Text size="sm">There is no such control, or the filter hides it.</Text>;
  const { check, page } = evidence[id] ?? {};
  const remedy =
    control.status === 'fail' || control.reason === 'not_checked' ? controlRemedies[id] : undefined;
  return (
    <Stack gap="sm">
      <Facts
        facts={{
          Control: <code>{id}</code>,
          Result: <ControlStatus control={control} />,
          Checked: exactTime(control.lastChecked),
          ...(control.reason === 'not_applicable' && {
            Reason: 'Not applicable in development, on an address of this computer.',
          }),
        }}
      />
      {check && (
        <Text size="sm">
          <b>How it is checked.</b> {check}
        </Text>
      )}
      {remedy && (
        <Text size="sm">
          <b>What to do.</b> {remedy}
        </Text>
      )}
      {page && (
        <Text size="sm">
          <PageLink to={page.to} search={page.search} className={classes.link}>
            {page.label}
          </PageLink>
        </Text>
      )}
    </Stack>
  );
}

const words: Readonly<Record<Control['status'], { readonly status: string; readonly label: string }>> = {
  pass: { status: 'passing', label: 'holds' },
  fail: { status: 'failing', label: 'fails' },
  unknown: { status: 'disabled', label: 'not known' },
};

export const ControlStatus = ({ control: { status, reason } }: { readonly control: Control }) => (
  <StatusBadge {...words[status]} {...(reason === 'not_applicable' && { label: 'not applicable' })} />
);
