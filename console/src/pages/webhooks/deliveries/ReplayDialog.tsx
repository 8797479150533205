import { Button, Group, Select, Text, TextInput } from '@mantine/core';
import { useApi } from '../../../api/queries.ts';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { showDone } from '../../../components/notices.tsx';
import { count } from './delivery-words.ts';
import type { StartedReplay } from './ReplayProgress.tsx';

const statuses = [
  { value: 'both', label: 'Failed and dead letters' },
  { value: 'failed', label: 'Failed' },
  { value: 'dead_letter', label: 'Dead letters' },
] as const;
type Which = (typeof statuses)[number]['value'];

interface Values extends Record<string, unknown> {
  /** `2026-11-17T03:12`, in UTC. */
  since: string;
  which: string;
}

const presets = [
  { label: '1 hour', hours: 1 },
  { label: '24 hours', hours: 24 },
  { label: '7 days', hours: 168 },
];
const hoursAgo = (hours: number): string => toField(Date.now() - hours * 3_600_000);
const toField = (time: number): string => new Date(time).toISOString().slice(0, 16);
/** Undefined for a text that is no time. */
const sinceOf = (field: string): string | undefined => {
  const time = Date.parse(`${field}:00Z`);
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
};

interface ReplayDialogProps {
  readonly webhookId: string;
  /** The start of the list's time range. */
  readonly since: string | undefined;
  readonly onClose: () => void;
  readonly onStarted: (replay: StartedReplay) => void;
}

/** Sends all failed deliveries since a time again. */
export function ReplayDialog({ webhookId, since, onClose, onStarted }: ReplayDialogProps) {
  const params = { id: webhookId };
  const bodyOf = ({ since: field, which }: Values) => ({
    since: sinceOf(field) ?? field,
    ...(which !== 'both' && { status: which as Exclude<Which, 'both'> }),
  });
  const isTime = since !== undefined && !Number.isNaN(Date.parse(since));
  return (
    <FormDialog
      opened
      onClose={onClose}
      title="Replay failed deliveries"
      submitLabel="Replay deliveries"
      initialValues={{ since: isTime ? toField(Date.parse(since)) : hoursAgo(24), which: 'both' }}
      required={{ since: 'Choose a time.' }}
      validate={(values): { since?: string } => (sinceOf(values.since) ? {} : { since: 'Choose a time.' })}
      operation="replayWebhookDeliveries"
      inputOf={(values: Values) => ({ params, body: bodyOf(values) })}
      refreshes={['/webhooks']}
      onDone={({ count: number }, values) =>
        number === 0
          ? showDone('No failed deliveries since that time')
          : onStarted({
              webhookId,
              since: bodyOf(values).since,
              until: new Date().toISOString(),
              count: number,
            })
      }
    >
      {(form) => (
        <>
          <Text size="sm">
            Each delivery is sent again under its id, so your receiver can recognize it. The retry schedule
            starts anew.
          </Text>
          <TextInput
            type="datetime-local"
            label="Created since (UTC)"
            data-autofocus
            {...form.getInputProps('since')}
          />
          <Group gap="xs" role="group" aria-label="Presets">
            {presets.map(({ label, hours }) => (
              <Button
                key={label}
                size="compact-xs"
                variant="default"
                onClick={() => form.setFieldValue('since', hoursAgo(hours))}
              >
                {label}
              </Button>
            ))}
          </Group>
          <Select label="Which" data={statuses} allowDeselect={false} {...form.getInputProps('which')} />
          <Preview webhookId={webhookId} since={sinceOf(form.values.since)} which={form.values.which} />
        </>
      )}
    </FormDialog>
  );
}

interface PreviewProps {
  readonly webhookId: string;
  readonly since: string | undefined;
  readonly which: string;
}

/** How many deliveries the replay would send. */
function Preview({ webhookId, since, which }: PreviewProps) {
  const { data, error } = useApi(
    'countWebhookDeliveries',
    { params: { id: webhookId }, query: { since } },
    { enabled: since !== undefined, staleTime: 0, keepPrevious: true },
  );
  if (since === undefined) return null;
  const { failed = 0, dead_letter = 0 } = data ?? {};
  const number = (which === 'dead_letter' ? 0 : failed) + (which === 'failed' ? 0 : dead_letter);
  return (
    <Text size="sm" fw={600} role="status">
      {data
        ? `${count(number, 'delivery')} will be sent again.`
        : error
          ? 'The number of deliveries could not be loaded.'
          : 'Counting…'}
    </Text>
  );
}
