import { Checkbox, Group, Radio, Stack } from '@mantine/core';
import type { OwnApproval } from '../../api/approvals.ts';
import { durationText } from '../../components/duration-text.ts';
import { visibleText } from '../../components/TenantText.tsx';
import classes from './Approvals.module.css';
import { type Choice, durationsOf } from './approval-words.ts';

interface ChoiceProps {
  readonly approval: OwnApproval;
  readonly choice: Choice;
  readonly onChange: (choice: Choice) => void;
}

/** What the person allows: at most what was asked for. */
export function ChoiceFields(props: ChoiceProps) {
  const { approval, choice, onChange } = props;
  return (
    <>
      {approval.scopes.length > 0 && <Scopes {...props} />}
      <Duration {...props} />
      <Checkbox
        label="It may pass this on to other agents of the organization"
        description="They could then act for you, too, with what you allow here."
        checked={choice.allowRedelegation}
        onChange={(event) => onChange({ ...choice, allowRedelegation: event.currentTarget.checked })}
      />
    </>
  );
}

function Scopes({ approval, choice, onChange }: ChoiceProps) {
  const descriptions = new Map(
    approval.scopeDescriptions.map(({ name, description }) => [name, description]),
  );
  return (
    <Checkbox.Group
      label="It may do this for you"
      value={[...choice.scopes]}
      onChange={(scopes) => onChange({ ...choice, scopes })}
      error={choice.scopes.length === 0 ? 'Choose at least one, or deny.' : undefined}
    >
      <Stack gap="xs" mt="xs">
        {approval.scopes.map((name) => {
          const description = descriptions.get(name) ?? null;
          return (
            <Checkbox
              key={name}
              value={name}
              label={<bdi className={classes.text}>{visibleText(description ?? name)}</bdi>}
              description={description !== null && <code className={classes.text}>{visibleText(name)}</code>}
            />
          );
        })}
      </Stack>
    </Checkbox.Group>
  );
}

function Duration({ approval, choice, onChange }: ChoiceProps) {
  return (
    <Radio.Group
      label="For how long"
      description="From the moment of the decision."
      value={choice.accessExpiresIn}
      onChange={(accessExpiresIn) => onChange({ ...choice, accessExpiresIn })}
    >
      <Group gap="md" mt="xs">
        {durationsOf(approval).map((seconds) => (
          <Radio
            key={seconds}
            value={String(seconds)}
            label={
              seconds === approval.accessExpiresIn
                ? `${durationText(seconds)}, as asked`
                : durationText(seconds)
            }
          />
        ))}
      </Group>
    </Radio.Group>
  );
}
