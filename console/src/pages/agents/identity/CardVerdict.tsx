import { Alert, List, Text, ThemeIcon } from '@mantine/core';
import { Icon } from '../../../components/Icon.tsx';
import { visibleText } from '../../../components/TenantText.tsx';
import type { CardVerification } from './verify-card.ts';

/** Verified or not, and each check. */
export function CardVerdict({
  verification: { verified, checks },
}: {
  readonly verification: CardVerification;
}) {
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
