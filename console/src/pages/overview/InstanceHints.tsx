import { Anchor, Group, Paper, Text, Title } from '@mantine/core';
import { useApi } from '../../api/queries.ts';
import { PageLink } from '../../app/navigation.tsx';
import { controlRemedies } from '../../components/control-remedies.ts';
import { Icon } from '../../components/Icon.tsx';
import classes from './OverviewPage.module.css';

/** For the operator: controls of the instance that fail. Nothing when all of them hold, or when they cannot be read. */
export function InstanceHints() {
  const { data } = useApi('getControls', {});
  const failing = data?.controls.filter(({ status }) => status === 'fail') ?? [];
  if (failing.length === 0) return null;
  return (
    <Paper component="section" aria-label="Instance hints" className={classes.hints ?? ''}>
      <Group gap="xs" mb={4}>
        <Icon name="warning" />
        <Title order={2}>
          {failing.length === 1
            ? 'A control of this instance fails'
            : `${failing.length} controls of this instance fail`}
        </Title>
      </Group>
      <ul className={classes.hint}>
        {failing.map(({ id, name }) => (
          <Text key={id} component="li" size="sm">
            {controlRemedies[id]}{' '}
            <Text span size="sm" c="dimmed">
              {id}: {name}
            </Text>
          </Text>
        ))}
      </ul>
      <Text size="sm" mt={4}>
        <Anchor component={PageLink} to="/compliance" inherit>
          All controls
        </Anchor>
      </Text>
    </Paper>
  );
}
