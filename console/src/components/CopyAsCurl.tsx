import { type ButtonProps, Menu } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { curlOf } from '../api/curl.ts';
import type { OperationId } from '../api/generated.ts';
import type { Input } from '../api/request.ts';
import { CopyButton } from './CopyButton.tsx';
import { Icon } from './Icon.tsx';

interface Request<Id extends OperationId> {
  readonly operation: Id;
  readonly input: Input<Id>;
  /** Where a page has several: which request. */
  readonly label?: string;
}

/** Copies the request as a curl command for the public API; the token is `$TOKEN`. */
export function CopyAsCurl<Id extends OperationId>(props: Request<Id> & ButtonProps) {
  const { operation, input, label = 'Copy as curl', ...rest } = props;
  return <CopyButton text={() => curlOf(operation, input as object)} label={label} {...rest} />;
}

/** `CopyAsCurl` in a menu, which stays open to say that it was copied. */
export function CopyAsCurlItem<Id extends OperationId>({ operation, input, label }: Request<Id>) {
  const clipboard = useClipboard({ timeout: 2_000 });
  return (
    <Menu.Item
      closeMenuOnClick={false}
      leftSection={<Icon name={clipboard.copied ? 'check' : 'copy'} size={14} />}
      onClick={() => clipboard.copy(curlOf(operation, input as object))}
    >
      <span aria-live="polite">{clipboard.copied ? 'Copied' : label}</span>
    </Menu.Item>
  );
}
