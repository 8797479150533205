/** What the forms, dialogs and lists of all pages have in common. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { Locator } from 'playwright-core';
import { emptyFields } from '../../console/src/components/required-fields.ts';
import {
  assertAccessible,
  assertNoSidewaysScroll,
  browserTest,
  openSection,
  startConsole,
} from '../support/console.ts';
import { createResourceClient } from '../support/scenarios/resources/resources.ts';

const server = await startConsole();
const { tenant, resource } = createResourceClient(server);

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

const hasFocus = (field: Locator) => field.evaluate((element) => element.matches(':focus'));
const bottomOf = async (element: Locator) => {
  const box = await element.boundingBox();
  return (box?.y ?? 0) + (box?.height ?? 0);
};

browserTest(
  'a long form on a narrow screen: marks, the button in view, focus on the first problem',
  async (t) => {
    const owner = await tenant();
    const page = await server.open(t, '/apis?create=1', { as: owner, width: 360, height: 640 });
    const dialog = page.getByRole('dialog', { name: 'Register an API' });
    const submit = dialog.getByRole('button', { name: 'Register API' });
    const name = dialog.getByRole('textbox', { name: 'Name', exact: true });
    await submit.waitFor();
    assert.ok((await bottomOf(submit)) <= 640, 'the button is in view');
    assert.equal(await name.getAttribute('required'), '');
    await dialog.getByText('* required').waitFor();
    await openSection(dialog, 'Facts about the agent');
    await dialog.getByRole('checkbox', { name: /person_sub/ }).scrollIntoViewIfNeeded();
    assert.ok((await bottomOf(submit)) <= 640, 'the button stays in view');
    await submit.click();
    await dialog.getByText('Give it a name.').waitFor();
    assert.ok(await hasFocus(name), 'the first problem has the focus');
    await assertNoSidewaysScroll(page);
    await assertAccessible(page);

    // A refusal of the API at its field, in a section that is closed.
    await name.fill('Orders');
    await dialog.getByRole('textbox', { name: 'Identifier' }).fill('https://orders.example.com');
    await dialog.getByRole('textbox', { name: 'Name of scope 1' }).fill('orders:read');
    await page.route('**/api/v1/resources', (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({
            status: 400,
            json: {
              code: 'VALIDATION_ERROR',
              message: 'The request is not valid',
              details: { fields: [{ in: 'body', field: 'approvers', message: 'must be people' }] },
            },
          })
        : route.continue(),
    );
    await submit.click();
    const approvers = dialog.getByRole('combobox', { name: 'Approvers' });
    await approvers.waitFor();
    await dialog.getByText('must be people').first().waitFor();
    assert.ok(await hasFocus(approvers), 'the section is open, and its field has the focus');
    assert.ok((await bottomOf(submit)) <= 640, 'the message of the refusal leaves the button in view');
  },
);

browserTest('an empty list has no filters and one button; a row opens what it is about', async (t) => {
  const owner = await tenant();
  const page = await server.open(t, '/apis', { as: owner });
  await page.getByRole('heading', { name: 'No APIs yet' }).waitFor();
  assert.equal(await page.getByRole('search', { name: 'Filters' }).count(), 0);
  assert.equal(await page.getByRole('button', { name: 'Register an API' }).count(), 1);

  const { resourceId } = await resource(owner);
  await page.reload();
  await page.getByRole('search', { name: 'Filters' }).waitFor();
  await page.getByRole('button', { name: 'Register an API' }).waitFor();
  await page
    .getByRole('row', { name: /orders:read/ })
    .getByRole('cell')
    .nth(3)
    .click();
  await page.waitForURL(`**/apis/${resourceId}**`);
  await page.goBack();
  const [other] = await Promise.all([
    page.context().waitForEvent('page'),
    page
      .getByRole('row', { name: /orders:read/ })
      .getByRole('cell')
      .nth(3)
      .click({ modifiers: ['Control'] }),
  ]);
  assert.match(other.url(), new RegExp(resourceId));
  await other.close();
});

browserTest('filters have one row with "More"; details take no room from the list', async (t) => {
  const page = await server.open(t, '/audit', { width: 360 });
  const filters = page.getByRole('search', { name: 'Filters' });
  await filters.getByRole('button', { name: 'More filters' }).click();
  await filters.getByRole('combobox', { name: 'Outcome' }).waitFor();
  await assertNoSidewaysScroll(page);
  await assertAccessible(page);

  await page.setViewportSize({ width: 1280, height: 800 });
  const table = page.getByRole('table').first();
  await table.waitFor();
  const { width: before } = (await table.boundingBox()) ?? { width: 0 };
  await table.getByRole('row').nth(1).getByRole('cell').first().click();
  await page.getByRole('complementary', { name: 'Details' }).waitFor();
  assert.equal((await table.boundingBox())?.width, before);
  await assertNoSidewaysScroll(page);
  await page.keyboard.press('Escape');
  await page.getByRole('complementary', { name: 'Details' }).waitFor({ state: 'detached' });
});

browserTest('a message of success is over no content and no button of the page', async (t) => {
  const owner = await tenant();
  const { resourceId } = await resource(owner);
  for (const width of [360, 1280]) {
    const page = await server.open(t, `/apis/${resourceId}`, { as: owner, width });
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save API' }).click();
    const message = page.getByText('API changed');
    await message.waitFor();
    const top = (await page.getByRole('heading', { level: 1 }).boundingBox())?.y ?? 0;
    assert.ok((await bottomOf(message)) <= top, 'above the page');
  }
});
