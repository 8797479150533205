/** Where Mantine's inputs, and ours with `data-problem`, say that a value is refused. */
const problem = '[aria-invalid="true"], .mantine-InputWrapper-error, [data-problem]';
const input = 'input:not([type=hidden]):not(:disabled), textarea:not(:disabled)';
const button = 'button:not(:disabled)';

/** Moves the focus to the first field with a problem, in the order of the page, and opens the sections around it. */
export function focusFirstProblem(form: HTMLElement): void {
  const first = form.querySelector(problem);
  if (!first) return;
  const group = first.closest('.mantine-InputWrapper-root, fieldset, [role=group]') ?? first.parentElement;
  const field = first.matches(input) ? first : (group?.querySelector(input) ?? group?.querySelector(button));
  if (!(field instanceof HTMLElement)) return;
  for (let around = field.closest('details'); around; around = parentSection(around)) around.open = true;
  field.focus();
}

const parentSection = (section: HTMLDetailsElement): HTMLDetailsElement | null =>
  section.parentElement?.closest('details') ?? null;
