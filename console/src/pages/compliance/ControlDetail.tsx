import { Stack, Text } from '@mantine/core';
import { PageLink } from '../../app/navigation.tsx';
import { CopyAsCurl } from '../../components/CopyAsCurl.tsx';
import { controlRemedies } from '../../components/control-remedies.ts';
import { exactTime } from '../../components/RelativeTime.tsx';
import classes from './Compliance.module.css';
import { ControlStatus } from './ControlStatus.tsx';
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
  const remedy = controlRemedies[id];
  return (
    <Stack gap="sm">
      <dl className={classes.facts}>
        <dt>Control</dt>
        <dd>
          <code>{id}</code>
        </dd>
        <dt>Result</dt>
        <dd>
          <ControlStatus status={control.status} />
        </dd>
        <dt>Checked</dt>
        <dd>{exactTime(control.lastChecked)}</dd>
      </dl>
      {check && (
        <Text size="sm">
          <b>How it is checked.</b> {check}
        </Text>
      )}
      {remedy && control.status !== 'pass' && (
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
      <div>
        <CopyAsCurl operation="getControls" input={{}} />
      </div>
    </Stack>
  );
}
