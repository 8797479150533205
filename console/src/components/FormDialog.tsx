import { Button, Stack } from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { type FieldProblem, toApiError } from '../api/api-error.ts';
import type { OperationId } from '../api/generated.ts';
import { useAction } from '../api/queries.ts';
import type { Input, Output } from '../api/request.ts';
import { ConfirmButton } from './ConfirmButton.tsx';
import { CopyAs } from './CopyAs.tsx';
import { Dialog, DialogFooter, type DialogProps } from './Dialog.tsx';
import { focusFirstProblem } from './first-problem.ts';
import { showDone } from './notices.tsx';
import { RequiredHint } from './RequiredMark.tsx';
import { emptyFields, type RequiredFields } from './required-fields.ts';

export type { DialogProps } from './Dialog.tsx';

interface FormDialogProps<Values extends Record<string, unknown>, Id extends OperationId>
  extends DialogProps {
  readonly title: ReactNode;
  /** A verb and what it is done to: "Register agent". */
  readonly submitLabel: string;
  readonly initialValues: Values;
  /** The fields that must not stay empty, each with the sentence that asks for it. `getInputProps` marks them. */
  readonly required?: RequiredFields<Values> | ((values: Values) => RequiredFields<Values>);
  /** Further checks before the request, by field. The API checks again. */
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
  /** False while its content loads, and after that failed. */
  readonly ready?: boolean;
}

/**
 * A form in a dialog that sends one operation. Problems of single fields appear at these fields, and the first of them gets the focus; the
 * rest is above the buttons.
 */
export function FormDialog<Values extends Record<string, unknown>, Id extends OperationId>(
  props: FormDialogProps<Values, Id>,
) {
  const { opened, onClose, title, submitLabel, initialValues, validate, children, operation, inputOf } =
    props;
  const {
    refreshes = [],
    doneMessage,
    onDone,
    isUnchanged,
    size = 'md',
    confirms = false,
    ready = true,
  } = props;
  const action = useAction(operation, { refreshes });
  const requiredOf = (values: Values): RequiredFields<Values> =>
    typeof props.required === 'function'
      ? props.required(values)
      : (props.required ?? ({} as RequiredFields<Values>));
  const form = useForm<Values>({
    mode: 'controlled',
    initialValues,
    validate: (values: Values) => ({ ...validate?.(values), ...emptyFields(requiredOf(values), values) }),
    enhanceGetInputProps: ({ field, form: { values } }) =>
      String(field) in requiredOf(values) ? { required: true } : {},
  });
  const element = useRef<HTMLFormElement>(null);
  const [refusals, setRefusals] = useState(0);
  const refuse = () => setRefusals((before) => before + 1);
  useEffect(() => {
    if (refusals > 0 && element.current) focusFirstProblem(element.current);
  }, [refusals]);

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
      form.setErrors(errorsOf(toApiError(failure).fields, initialValues));
      refuse();
    }
  };

  const SubmitButton = confirms ? ConfirmButton : Button;
  return (
    <Dialog opened={opened} onClose={onClose} title={title} size={size}>
      <form
        ref={element}
        onSubmit={form.onSubmit((values) => void submit(values), refuse)}
        onKeyDown={ignoreHeldEnter}
        noValidate
      >
        <Stack>
          <RequiredHint />
          {children(form)}
        </Stack>
        <DialogFooter
          error={action.error}
          errorTitle="That did not work"
          aside={<CopyAs operation={operation} input={inputOf(form.values)} />}
        >
          <Button variant="default" onClick={onClose} {...(confirms && { 'data-autofocus': true })}>
            Cancel
          </Button>
          <SubmitButton type="submit" loading={action.isPending} disabled={!ready}>
            {submitLabel}
          </SubmitButton>
        </DialogFooter>
      </form>
    </Dialog>
  );
}

/** The API's problems by field of the form: at the input of the part (`scopes.0.name`), and at that of the whole field. */
const errorsOf = (fields: readonly FieldProblem[], initialValues: object): Record<string, string> =>
  Object.fromEntries(
    fields
      .map(({ field, message }) => ({ path: field.replace(/\[(\d+)\]/g, '.$1'), message }))
      .filter(({ path }) => (path.split('.')[0] ?? '') in initialValues)
      .flatMap(({ path, message }) => [
        [path.split('.')[0], message],
        [path, message],
      ]),
  );

/** A key that was held down before the dialog opened sends nothing. */
function ignoreHeldEnter(event: KeyboardEvent<HTMLElement>): void {
  const isText = event.target instanceof HTMLTextAreaElement;
  if (event.repeat && event.key === 'Enter' && !isText) event.preventDefault();
}
