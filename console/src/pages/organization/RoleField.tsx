import { Radio, Stack } from '@mantine/core';

export interface RoleFieldProps {
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
          <Radio key={role} value={role} label={role} description={description} />
        ))}
      </Stack>
    </Radio.Group>
  );
}
