import { Radio, Stack } from '@mantine/core';
import { roleWord } from '../../components/role-words.ts';

/** The roles of members, with their meaning. */
export const memberRoles = {
  member: 'Belongs to the organization; its scopes decide what it may do.',
  admin: 'Also manages members, people, billing, webhooks and grants of the organization.',
} as const;

/** The roles of people, with their meaning. */
export const personRoles = {
  member: 'Sees only the agents that act for them, and what waits for their approval.',
  viewer: 'Sees what the agent may read, and changes nothing.',
  admin: 'Does all that the agent may do, and manages the organization.',
} as const;

interface RoleFieldProps {
  /** Each role with a sentence about it. */
  readonly roles: Readonly<Record<string, string>>;
  readonly value?: string;
  readonly onChange?: (role: string) => void;
  readonly error?: unknown;
}

export function RoleField({ roles, value, onChange, error }: RoleFieldProps) {
  return (
    <Radio.Group
      label="Role"
      value={value ?? ''}
      {...(onChange && { onChange })}
      error={error as string | undefined}
    >
      <Stack gap="xs" mt="xs">
        {Object.entries(roles).map(([role, description]) => (
          <Radio key={role} value={role} label={roleWord(role)} description={description} />
        ))}
      </Stack>
    </Radio.Group>
  );
}
