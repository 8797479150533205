/** What every form and dialog of the console has in common. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { emptyFields } from '../../console/src/components/required-fields.ts';

describe('emptyFields', () => {
  const cases: [what: string, value: unknown, isEmpty: boolean][] = [
    ['a text', 'a', false],
    ['no text', '', true],
    ['spaces', ' \n', true],
    ['a choice', ['a'], false],
    ['no choice', [], true],
    ['null', null, true],
    ['zero', 0, false],
    ['false', false, false],
  ];
  for (const [what, value, isEmpty] of cases)
    it(what, () =>
      assert.deepEqual(
        emptyFields({ field: 'Enter it' }, { field: value }),
        isEmpty ? { field: 'Enter it' } : {},
      ),
    );
});

const sources = globSync('console/src/**/*.tsx').map((path) => ({ path, text: readFileSync(path, 'utf8') }));

/** The sign-in, the search and the steps of the command line have no action in a footer. */
const otherWindows = /components\/Dialog\.tsx$|app\/(SessionGate|Palette|CommandLineDialog)\.tsx$/;

it('windows over a page are a Dialog, with its footer in view', () => {
  const others = sources.filter(({ path, text }) => text.includes('<Modal') && !otherWindows.test(path));
  assert.deepEqual(
    others.map(({ path }) => path),
    [],
  );
  const bare = sources.filter(
    ({ text }) => /import \{[^}]*\bDialog\b[^}]*\} from/.test(text) && !text.includes('<DialogFooter'),
  );
  assert.deepEqual(
    bare.map(({ path }) => path),
    [],
  );
});

it('the button of a dialog says what it does to what: "Register agent", not "Save"', () => {
  const labels = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/(?:submitLabel|confirmLabel)=(?:"([^"]*)"|\{([^}]*(?:`[^`]*`)?[^}]*)\})/g)].flatMap(
      ([, plain, code = '']) =>
        (plain === undefined
          ? [...code.matchAll(/[:?] '([^']*)'/g)].map((match) => match[1] ?? '')
          : [plain]
        ).map((label) => `${path}: ${label}`),
    ),
  );
  assert.ok(labels.length > 40);
  // Approve and deny have their object in the title, the others are one verb in English.
  const single = labels.filter(
    (label) => !/: \S+ \S/.test(label) && !/: (Approve|Deny|Delegate)$/.test(label),
  );
  assert.deepEqual(single, []);
});
