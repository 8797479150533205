import type { ButtonProps } from '@mantine/core';
import { curlOf } from '../api/curl.ts';
import type { OperationId } from '../api/generated.ts';
import type { Input } from '../api/request.ts';
import { CopyButton } from './CopyButton.tsx';

export interface CopyAsCurlProps<Id extends OperationId> extends ButtonProps {
  readonly operation: Id;
  readonly input: Input<Id>;
  /** Where a page has several: which request. */
  readonly label?: string;
}

/** Copies the request as a curl command for the public API; the token is `$TOKEN`. */
export function CopyAsCurl<Id extends OperationId>({
  operation,
  input,
  label = 'Copy as curl',
  ...rest
}: CopyAsCurlProps<Id>) {
  return <CopyButton text={() => curlOf(operation, input as object)} label={label} {...rest} />;
}
