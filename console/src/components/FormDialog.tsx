import { Alert, Box, Button, Group, Modal, Stack } from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { type KeyboardEvent, type ReactNode, useState } from 'react';
import { type ApiError, toApiError } from '../api/api-error.ts';
import { ConfirmButton } from './ConfirmButton.tsx';
import { Icon } from './Icon.tsx';
import { RequestId } from './RequestId.tsx';

export interface FormDialogProps<Values extends Record<string, unknown>> {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly title: ReactNode;
  readonly submitLabel: string;
  readonly initialValues: Values;
  /** Checks before the request, by field. The API checks again. */
  readonly validate?: (values: Values) => Partial<Record<keyof Values, string>>;
  /** The inputs: `<TextInput label="Name" {...form.getInputProps('name')} />`. */
  readonly children: (form: UseFormReturnType<Values>) => ReactNode;
  /** Sends the request. Success closes the dialog and clears it; failure keeps everything that was typed. */
  readonly onSubmit: (values: Values) => Promise<unknown>;
  /** Beside the buttons, usually `<CopyAsCurl …>` with the values so far. */
  readonly extra?: (values: Values) => ReactNode;
  readonly size?: string;
  /** It ends or publishes something although nothing has to be typed: its button waits like that of `ConfirmEnding`. */
  readonly confirms?: boolean;
}

/** A form in a dialog. Problems of single fields appear at these fields, the rest above the buttons. */
export function FormDialog<Values extends Record<string, unknown>>(props: FormDialogProps<Values>) {
  const {
    opened,
    onClose,
    title,
    submitLabel,
    initialValues,
    validate,
    children,
    onSubmit,
    extra,
    size = 'md',
    confirms = false,
  } = props;
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const form = useForm<Values>({
    mode: 'controlled',
    initialValues,
    ...(validate && { validate: (values: Values) => validate(values) as Record<string, string> }),
  });

  const submit = async (values: Values) => {
    setBusy(true);
    setError(undefined);
    try {
      await onSubmit(values);
      form.reset();
      onClose();
    } catch (failure) {
      const problem = toApiError(failure);
      const atFields = Object.fromEntries(
        problem.fields
          .map(({ field, message }) => ({ path: field.replace(/\[(\d+)\]/g, '.$1'), message }))
          .filter(({ path }) => (path.split('.')[0] ?? '') in initialValues)
          // At the input of the part (`scopes.0.name`), and at that of the whole field.
          .flatMap(({ path, message }) => [
            [path.split('.')[0], message],
            [path, message],
          ]),
      );
      form.setErrors(atFields);
      setError(problem);
    } finally {
      setBusy(false);
    }
  };

  const SubmitButton = confirms ? ConfirmButton : Button;

  /** The first field with a problem may be out of sight. */
  const focusFirst = (errors: Readonly<Record<string, unknown>>) =>
    form.getInputNode(Object.keys(errors)[0] ?? '')?.focus();

  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={title}
      size={size}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form
        onSubmit={form.onSubmit((values) => void submit(values), focusFirst)}
        onKeyDown={ignoreHeldEnter}
        noValidate
      >
        <Stack>
          {children(form)}
          {error && (
            <Alert color="red" role="alert" icon={<Icon name="warning" />} title="That did not work">
              {error.message}
              <RequestId id={error.requestId} />
            </Alert>
          )}
          <Group justify="flex-end">
            {extra && <Box mr="auto">{extra(form.values)}</Box>}
            <Button variant="default" onClick={onClose} {...(confirms && { 'data-autofocus': true })}>
              Cancel
            </Button>
            <SubmitButton type="submit" loading={busy}>
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
