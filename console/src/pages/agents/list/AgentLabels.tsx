import { Badge, Group } from '@mantine/core';
import { PageLink } from '../../../app/navigation.tsx';
import { visibleText } from '../../../components/TenantText.tsx';
import { type Labels, labelTexts } from '../form/labels.ts';

interface AgentLabelsProps {
  readonly labels: Labels;
  /** Shows no more than these, and the count of the others. */
  readonly most?: number;
}

/** The labels of an agent. Each leads to the agents that have it. */
export function AgentLabels({ labels, most = 20 }: AgentLabelsProps) {
  const texts = labelTexts(labels);
  if (texts.length === 0) return null;
  const rest = texts.slice(most);
  return (
    <Group gap={4} mt={2} role="group" aria-label="Labels">
      {texts.slice(0, most).map((text) => (
        <Badge
          key={text}
          component={PageLink}
          to="/agents"
          search={{ label: text }}
          variant="default"
          size="sm"
          tt="none"
          fw={400}
          ff="monospace"
          maw="100%"
          style={{ cursor: 'pointer' }}
        >
          <bdi>{visibleText(text)}</bdi>
        </Badge>
      ))}
      {rest.length > 0 && (
        <Badge variant="transparent" c="dimmed" size="sm" tt="none" title={visibleText(rest.join('\n'))}>
          +{rest.length}
        </Badge>
      )}
    </Group>
  );
}
