import { ActionIcon, type ActionIconProps, Menu, Text } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { Fragment } from 'react';
import type { OperationId } from '../api/generated.ts';
import type { AnyInput, Input } from '../api/request.ts';
import { commandLineOf, curlOf, pythonOf, type RequestText, typescriptOf } from '../api/request-text.ts';
import classes from './CopyAs.module.css';
import { Icon } from './Icon.tsx';

interface CopyableRequest {
  readonly operation: OperationId;
  readonly input: AnyInput;
  /** Where a page has several: which request. */
  readonly label: string;
}

/** A request of a menu with several. */
export const copyable = <Id extends OperationId>(
  label: string,
  operation: Id,
  input: Input<Id>,
): CopyableRequest => ({ label, operation, input: input as AnyInput });

/** Copies a request of the public API as a command or as code. The quiet companion of a list or an action. */
export function CopyAs<Id extends OperationId>({
  operation,
  input,
  label,
  ...rest
}: { readonly operation: Id; readonly input: Input<Id>; readonly label?: string } & ActionIconProps) {
  return <CopyAsMenu requests={[copyable(label ?? '', operation, input)]} {...rest} />;
}

/** The same for several requests, each under its label. */
export function CopyAsMenu({
  requests,
  ...rest
}: { readonly requests: readonly CopyableRequest[] } & ActionIconProps) {
  const [first] = requests;
  const name = requests.length === 1 && first?.label ? `Copy ${first.label} as…` : 'Copy as…';
  return (
    <Menu position="bottom-end" width="15rem" withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <ActionIcon className={classes.copy ?? ''} aria-label={name} title={name} size={30} {...rest}>
          <Icon name="copy" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {requests.map((request) => (
          <Fragment key={request.label}>
            {requests.length > 1 && <Menu.Label>{request.label}</Menu.Label>}
            <Entries request={request} group={requests.length > 1 ? request.label : undefined} />
          </Fragment>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

interface EntriesProps {
  readonly request: CopyableRequest;
  readonly group: string | undefined;
}

const forms: readonly (readonly [label: string, textOf: (request: CopyableRequest) => RequestText])[] = [
  ['curl', (request) => ({ text: curlOf(request, location.origin) })],
  ['Command line', (request) => commandLineOf(request, location.origin)],
  ['TypeScript', (request) => ({ text: typescriptOf(request, location.origin) })],
  ['Python', (request) => ({ text: pythonOf(request, location.origin) })],
];

function Entries({ request, group }: EntriesProps) {
  return forms.map(([label, textOf]) => {
    const form = textOf(request);
    const name = group === undefined ? label : `${group}: ${label}`;
    if ('text' in form) return <Entry key={label} label={label} name={name} text={form.text} />;
    return (
      <Menu.Item key={label} disabled aria-label={`${name}: ${form.reason}`}>
        {label}
        <Text size="xs" className={classes.reason ?? ''}>
          None: {form.reason}.
        </Text>
      </Menu.Item>
    );
  });
}

interface EntryProps {
  readonly label: string;
  /** For screen readers. */
  readonly name: string;
  readonly text: string;
}

/** The menu stays open to say that the text was copied. */
function Entry({ label, name, text }: EntryProps) {
  const clipboard = useClipboard({ timeout: 2_000 });
  return (
    <Menu.Item
      closeMenuOnClick={false}
      aria-label={clipboard.copied ? undefined : name}
      rightSection={clipboard.copied && <Icon name="check" size={14} />}
      onClick={() => clipboard.copy(text)}
    >
      <span aria-live="polite">{clipboard.copied ? 'Copied' : label}</span>
    </Menu.Item>
  );
}
