import { Box, Button, Group, Modal, Stack } from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import type { KeyboardEvent, ReactNode } from 'react';
import { toApiError } from '../api/api-error.ts';
import type { OperationId } from '../api/generated.ts';
import { useAction } from '../api/queries.ts';
import type { Input, Output } from '../api/request.ts';
import { ConfirmButton } from './ConfirmButton.tsx';
import { CopyAs } from './CopyAs.tsx';
import { ErrorAlert } from './ErrorAlert.tsx';
import { showDone } from './notices.tsx';

export interface DialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
}

interface FormDialogProps<Values extends Record<string, unknown>, Id extends OperationId>
  extends DialogProps {
  readonly title: ReactNode;
  readonly submitLabel: string;
  readonly initialValues: Values;
  /** Checks before the request, by field. The API checks again. */
  readonly validate?: (values: Values) => Partial<Record<keyof Values, string>>;
  /** The inputs: `<TextInput label="Name" {...form.getInputProps('name')} />`. */
  readonly children: (form: UseFormReturnType<Values>) => ReactNode;
  /** The request. Success closes the dialog and clears it; failure keeps everything that was typed. */
  readonly operation: Id;
  readonly inputOf: (values: Values) => Input<Id>;
  /** Path prefixes whose data changed, as for `useAction`. */
  readonly refreshes?: readonly string[];
  /** The message after success. */
  readonly doneMessage?: string | undefined;
  readonly onDone?: ((output: Output<Id>, values: Values) => void) | undefined;
  /** True: nothing is sent, and the dialog closes. */
  readonly isUnchanged?: (values: Values) => boolean;
  readonly size?: string;
  /** It ends or publishes something although nothing has to be typed: its button waits like that of `ConfirmDialog`. */
  readonly confirms?: boolean;
}

/** A form in a dialog that sends one operation. Problems of single fields appear at these fields, the rest above the buttons. */
export function FormDialog<Values extends Record<string, unknown>, Id extends OperationId>(
  props: FormDialogProps<Values, Id>,
) {
  const { opened, onClose, title, submitLabel, initialValues, validate, children, operation, inputOf } =
    props;
  const { refreshes = [], doneMessage, onDone, isUnchanged, size = 'md', confirms = false } = props;
  const action = useAction(operation, { refreshes });
  const form = useForm<Values>({
    mode: 'controlled',
    initialValues,
    ...(validate && { validate: (values: Values) => validate(values) as Record<string, string> }),
  });

  const send = async (values: Values) => {
    const output = await action.mutateAsync(inputOf(values));
    // The answer may hold a secret.
    action.reset();
    if (doneMessage) showDone(doneMessage);
    onDone?.(output, values);
  };
  const submit = async (values: Values) => {
    try {
      if (!isUnchanged?.(values)) await send(values);
      form.reset();
      onClose();
    } catch (failure) {
      const atFields = Object.fromEntries(
        toApiError(failure)
          .fields.map(({ field, message }) => ({ path: field.replace(/\[(\d+)\]/g, '.$1'), message }))
          .filter(({ path }) => (path.split('.')[0] ?? '') in initialValues)
          // At the input of the part (`scopes.0.name`), and at that of the whole field.
          .flatMap(({ path, message }) => [
            [path.split('.')[0], message],
            [path, message],
          ]),
      );
      form.setErrors(atFields);
    }
  };

  const SubmitButton = confirms ? ConfirmButton : Button;

  /** The first field with a problem may be out of sight. */
  const focusFirst = (errors: Readonly<Record<string, unknown>>) =>
    form.getInputNode(Object.keys(errors)[0] ?? '')?.focus();

  return (
    <Modal opened={opened} onClose={onClose} title={title} size={size}>
      <form
        onSubmit={form.onSubmit((values) => void submit(values), focusFirst)}
        onKeyDown={ignoreHeldEnter}
        noValidate
      >
        <Stack>
          {children(form)}
          {action.error && <ErrorAlert error={action.error} title="That did not work" />}
          <Group justify="flex-end">
            <Box mr="auto">
              <CopyAs operation={operation} input={inputOf(form.values)} />
            </Box>
            <Button variant="default" onClick={onClose} {...(confirms && { 'data-autofocus': true })}>
              Cancel
            </Button>
            <SubmitButton type="submit" loading={action.isPending}>
              {submitLabel}
            </SubmitButton>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

/** A key that was held down before the dialog opened sends nothing. */
function ignoreHeldEnter(event: KeyboardEvent<HTMLElement>): void {
  const isText = event.target instanceof HTMLTextAreaElement;
  if (event.repeat && event.key === 'Enter' && !isText) event.preventDefault();
}
