import type { OperationId } from '../api/generated.ts';
import { useAction } from '../api/queries.ts';
import type { Input } from '../api/request.ts';
import { ConfirmModal, type ConfirmModalProps } from './ConfirmModal.tsx';
import { CopyAs } from './CopyAs.tsx';

interface ConfirmDialogProps<Id extends OperationId> extends ConfirmModalProps {
  /** The request of the button. */
  readonly operation: Id;
  readonly input: Input<Id>;
  /** Path prefixes whose data changed, as for `useAction`. */
  readonly refreshes?: readonly string[];
}

/** A destructive action of the API: says what will end, and asks once. */
export function ConfirmDialog<Id extends OperationId>({
  operation,
  input,
  refreshes = [],
  ...rest
}: ConfirmDialogProps<Id>) {
  const action = useAction(operation, { refreshes });
  return (
    <ConfirmModal
      {...rest}
      action={action}
      send={() => action.mutateAsync(input)}
      aside={<CopyAs operation={operation} input={input} />}
    />
  );
}
