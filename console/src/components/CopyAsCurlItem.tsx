import { Menu } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { curlOf } from '../api/curl.ts';
import type { OperationId } from '../api/generated.ts';
import type { Input } from '../api/request.ts';
import { Icon } from './Icon.tsx';

export interface CopyAsCurlItemProps<Id extends OperationId> {
  readonly operation: Id;
  readonly input: Input<Id>;
  /** Which request: "Copy test as curl". */
  readonly label: string;
}

/** `CopyAsCurl` in a menu, which stays open to say that it was copied. */
export function CopyAsCurlItem<Id extends OperationId>({ operation, input, label }: CopyAsCurlItemProps<Id>) {
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
