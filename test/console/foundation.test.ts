/** The frame of the console in a browser: sign-in and session, navigation, themes, widths, keyboard, palette, lost connections. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { currentBuild, maxInitialScript } from '../../scripts/build-console.ts';
import {
  assertAccessible,
  assertNoSidewaysScroll,
  browserTest,
  goTo,
  pressTo,
  settle,
  startConsole,
} from '../support/console.ts';
import { tabOrder } from '../support/tab-order.ts';

const server = await startConsole();
const { operator } = server;

const fillIn = async (page: Page, clientId: string, clientSecret: string) => {
  await page.getByLabel('Client ID').fill(clientId);
  await page.getByLabel('Client secret').fill(clientSecret);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
};
const overview = (page: Page) => page.getByRole('heading', { name: 'Overview', level: 1 });
const signInTitle = (page: Page) => page.getByRole('heading', { name: 'Sign in to Countersign' });
const accountMenu = (page: Page) => page.getByRole('button', { name: /^Account/ });

browserTest('204 sign-in with client id and secret, at the address that was asked for', async (t) => {
  const page = await server.open(t, '/settings?kept=1', { as: null });
  await signInTitle(page).waitFor();
  await assertAccessible(page);
  await fillIn(page, operator.clientId, operator.clientSecret);
  await accountMenu(page).waitFor();
  assert.match(page.url(), /\/console\/settings\?kept=1$/);
  await page.goto('/console/sign-in');
  await overview(page).waitFor();
  assert.match(page.url(), /\/console\/?$/);
});

browserTest('401 UNAUTHORIZED a wrong secret: message, request id, and what was typed stays', async (t) => {
  const page = await server.open(t, '/', { as: null });
  await fillIn(page, operator.clientId, 'wrong');
  const alert = page.getByRole('alert');
  await alert.getByText('Not signed in').waitFor();
  assert.match((await alert.textContent()) ?? '', /Request id/);
  assert.equal(await page.getByLabel('Client ID').inputValue(), operator.clientId);
  assert.equal(await page.getByLabel('Client secret').inputValue(), 'wrong');
});

browserTest('204 sign-in with a one-time link, once; the code leaves the address', async (t) => {
  const link = await server.call('POST', '/api/v1/console/links', { token: await server.token() });
  assert.equal(link.status, 201, link.text);
  const { hash } = new URL(link.json.url);
  const page = await server.open(t, `/${hash}`, { as: null });
  const useLink = (tab: Page) => tab.getByRole('button', { name: 'Sign in with this link' }).click();
  await signInTitle(page).waitFor();
  await assertAccessible(page);
  // Any site can send a browser here: the link signs in when the person says so.
  assert.equal((await page.context().cookies()).length, 0);
  assert.doesNotMatch(page.url(), /code/);
  await useLink(page);
  await overview(page).waitFor();
  const second = await server.open(t, `/${hash}`, { as: null });
  await useLink(second);
  await second.getByRole('alert').getByText('Not signed in').waitFor();
  await second.getByRole('button', { name: 'Sign in another way' }).click();
  await second.getByLabel('Client ID').waitFor();
});

browserTest('200 reload keeps the session; 204 sign-out ends it', async (t) => {
  const page = await server.open(t);
  await overview(page).waitFor();
  await page.reload();
  await overview(page).waitFor();
  await accountMenu(page).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await signInTitle(page).waitFor();
  await page.reload();
  await signInTitle(page).waitFor();
});

browserTest('401 an ended session: sign-in over the page, which keeps what was typed', async (t) => {
  const page = await server.open(t);
  await overview(page).waitFor();
  await page.keyboard.press('Control+k');
  // One letter asks the server nothing, so that no answer comes while the next word is typed.
  await page.getByRole('combobox').fill('a');
  // Another tab signs out.
  await page.context().clearCookies();
  await page.getByRole('combobox').fill('agent');
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.waitFor();
  assert.equal(await page.getByRole('combobox', { includeHidden: true }).inputValue(), 'agent');
  await fillIn(page, operator.clientId, operator.clientSecret);
  await dialog.waitFor({ state: 'hidden' });
  assert.equal(await page.getByRole('combobox').inputValue(), 'agent');
});

browserTest('an unused session: the tab falls silent, warns, and can stay signed in', async (t) => {
  const page = await server.open(t);
  await page.clock.install();
  await page.reload();
  await overview(page).waitFor();
  await page.clock.pauseAt(Date.now() + 600_000);
  await page.mouse.move(10, 10);
  // The page's clock does not wait for answers.
  const answered = page.waitForResponse(/\/api\//);
  await page.clock.runFor(11 * 60_000);
  await answered;
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  await page.clock.runFor(17.5 * 60_000);
  assert.deepEqual(requests, [], 'an unused tab keeps its session alive');
  const warning = page.getByText('Your session is about to end');
  // It stands for two minutes of the page's clock, half an hour after the last answer, which arrives in real time: anywhere between
  // the first minute and the last one so far.
  for (let minute = 0; minute < 35 && !(await warning.isVisible()); minute += 1) {
    await page.clock.runFor(60_000);
    await warning.waitFor({ timeout: 1_000 }).catch(() => undefined);
  }
  await page.getByRole('button', { name: 'Stay signed in' }).click();
  await warning.waitFor({ state: 'hidden' });
});

browserTest('theme: the choice survives a reload', async (t) => {
  const page = await server.open(t);
  await page.getByRole('button', { name: /^Theme/ }).click();
  await page.getByRole('menuitemradio', { name: 'Dark' }).click();
  await page.locator('html[data-mantine-color-scheme=dark]').waitFor();
  await page.reload();
  await overview(page).waitFor();
  await page.locator('html[data-mantine-color-scheme=dark]').waitFor();
});

browserTest(
  'the typeface of texts and of code comes from this server, with figures of one width',
  async (t) => {
    const page = await server.open(t, '/', { keep: true });
    await overview(page).waitFor();
    for (const font of ['Atkinson Hyperlegible Next', 'Atkinson Hyperlegible Mono'])
      assert.equal(
        await page.evaluate<number>(`document.fonts.load('1rem "${font}"').then((all) => all.length)`),
        1,
      );
    const style = await page.evaluate<Record<string, string>>('({ ...getComputedStyle(document.body) })');
    assert.match(style.fontFamily ?? '', /^"Atkinson Hyperlegible Next"/);
    assert.equal(style.fontVariantNumeric, 'tabular-nums');
  },
);

browserTest('360 px: nothing scrolls sideways, and the navigation opens and closes', async (t) => {
  const page = await server.open(t, '/', { width: 360, height: 640, keep: true });
  await overview(page).waitFor();
  await assertNoSidewaysScroll(page);
  const navigation = page.getByRole('navigation', { name: 'Pages' });
  assert.equal(await navigation.isVisible(), false);
  await page.getByRole('button', { name: 'Open navigation' }).click();
  await navigation.waitFor();
  await assertAccessible(page, { whole: true });
  await assertNoSidewaysScroll(page);
  await navigation.getByRole('link', { name: 'Overview' }).click();
  await page.getByRole('button', { name: 'Close navigation' }).click();
  await navigation.waitFor({ state: 'hidden' });
  await accountMenu(page).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).waitFor();
  await assertNoSidewaysScroll(page);
});

browserTest('4K: the page uses the width, and the content stays readable', async (t) => {
  const page = await server.open(t, '/', { width: 3840, height: 2160, keep: true });
  await overview(page).waitFor();
  const { width = 0 } = (await page.locator('main').boundingBox()) ?? {};
  assert.ok(width > 1_600 && width < 2_200, `${width} px`);
});

browserTest(
  'keyboard only: sign in, skip the navigation, open and leave the palette, sign out',
  async (t) => {
    const page = await server.open(t, '/', { as: null });
    await pressTo(page, page.getByLabel('Client ID'));
    await page.keyboard.type(operator.clientId);
    await page.keyboard.press('Tab');
    await page.keyboard.type(operator.clientSecret);
    await page.keyboard.press('Enter');
    await overview(page).waitFor();
    await pressTo(page, page.getByRole('link', { name: 'Skip to content' }));
    await page.keyboard.press('Enter');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('combobox').waitFor({ state: 'hidden' });
    await pressTo(page, accountMenu(page), 'Tab', 200);
    const outline = await accountMenu(page).evaluate(
      (element) => element.ownerDocument.defaultView.getComputedStyle(element).outlineStyle,
    );
    assert.equal(outline, 'solid');
    await page.keyboard.press('Enter');
    const signOut = page.getByRole('menuitem', { name: 'Sign out' });
    await signOut.waitFor();
    await pressTo(page, signOut, 'ArrowDown', 6);
    await page.keyboard.press('Enter');
    await signInTitle(page).waitFor();
  },
);

browserTest('the tab order that other tests read is the order of real keys', async (t) => {
  const page = await server.open(t, '/usage', { keep: true });
  for (const place of ['a page', 'a dialog']) {
    if (place === 'a dialog') {
      await goTo(page, '/agents?register=1');
      await page.getByRole('dialog').waitFor();
    }
    await settle(page);
    const count = await page.evaluate<number>(`(window.stops = ${tabOrder}).length`);
    const pressed: number[] = [];
    // A field for a date has several stops, and after the last element comes the page itself.
    for (let step = 0; step < 3 * count && new Set(pressed).size < count; step += 1) {
      await page.keyboard.press('Tab');
      const index = await page.evaluate<number>('stops.indexOf(document.activeElement)');
      const isBody = await page.evaluate<boolean>('document.activeElement === document.body');
      if (!isBody && index !== pressed.at(-1)) pressed.push(index);
    }
    const first = pressed[0] ?? 0;
    const read = Array.from({ length: count }, (_, index) => (first + index) % count);
    assert.ok(count > 10, `${count}`);
    assert.deepEqual(pressed, read, place);
  }
});

browserTest(
  'palette: pages by name, agents, APIs and people by one search of the server each, arrow keys and Enter',
  async (t) => {
    const { agentId } = await server.agent({ email: 'palette-target@example.com' });
    const page = await server.open(t, '/', { keep: true });
    await overview(page).waitFor();
    await page.getByRole('button', { name: /^Search/ }).click();
    const input = page.getByRole('combobox', { name: 'Search agents, APIs, people, pages and actions' });
    await input.fill('no such thing at all');
    await page.getByText('Nothing has this name.').waitFor();
    await input.fill('overview');
    await page.getByRole('option', { name: /Overview/ }).waitFor();
    await assertAccessible(page);
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await input.fill('');
    await input.pressSequentially('palette-target', { delay: 20 });
    const option = page.getByRole('option', { name: /palette-target@example.com/ });
    await option.waitFor();
    for (const path of ['/agents?', '/resources?', '/people?']) {
      const searches = requests.filter((url) => url.includes(path));
      assert.ok(searches.length >= 1 && searches.length <= 3, `${searches.length} searches for many keys`);
    }
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    assert.equal(await option.getAttribute('aria-selected'), 'true');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/console/agents/${agentId}`);
    const identifier = 'https://palette-api.example.com';
    const payload = { identifier, name: 'Ledger', scopes: [{ name: 'ledger:read', description: 'Read it' }] };
    const made = await server.call('POST', '/api/v1/resources', { token: await server.token(), payload });
    assert.equal(made.status, 201, made.text);
    await page.keyboard.press('Control+k');
    await input.fill('palette-api');
    await page
      .getByRole('group', { name: 'APIs' })
      .getByRole('option', { name: /Ledger/ })
      .waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/console/apis/${made.json.resourceId}`);
    const token = await server.token();
    const { organizationId } = (await server.call('GET', `/api/v1/agents/${operator.clientId}`, { token }))
      .json;
    const invited = await server.call('POST', `/api/v1/organizations/${organizationId}/people`, {
      token,
      payload: {
        issuer: 'https://login.example.com',
        subject: 'palette',
        name: 'Palette Person',
        role: 'viewer',
        agentId,
      },
    });
    assert.equal(invited.status, 201, invited.text);
    await page.keyboard.press('Control+k');
    await input.fill('palette pers');
    await page
      .getByRole('group', { name: 'People' })
      .getByRole('option', { name: /Palette Person/ })
      .waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`**selected=${invited.json.personId}*`);
  },
);

browserTest('an address that is no page: a page of the console says so', async (t) => {
  const page = await server.open(t, '/no/such/page', { keep: true });
  await page.getByRole('heading', { name: 'Page not found', level: 1 }).waitFor();
  await assertAccessible(page, { whole: true });
  await page.getByRole('link', { name: 'Go to the overview' }).click();
  await overview(page).waitFor();
});

browserTest('a lost connection: a message, and it goes away when the server answers again', async (t) => {
  const page = await server.open(t, '/', { allow: [/net::ERR/], keep: true });
  await overview(page).waitFor();
  const searches = /\/console\/api\/v1\/(agents|resources|organizations)\b/;
  await page.context().route(searches, (route) => route.abort('connectionrefused'));
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('some agent');
  const notice = page.getByText('No connection to the server');
  await notice.waitFor({ state: 'attached' });
  await page.context().unroute(searches);
  await page.getByRole('combobox').fill('another agent');
  await notice.waitFor({ state: 'detached' });
});

browserTest(
  'events that happened while the stream was refused: what is on display loads again',
  async (t) => {
    const page = await server.open(t, '/settings');
    let answers: 'none' | 'refusal' | 'real' = 'none';
    await page.route('**/console/api/v1/events*', (route) =>
      answers === 'real'
        ? route.continue()
        : answers === 'refusal'
          ? route.fulfill({ status: 503, json: {} })
          : route.fulfill({ contentType: 'text/event-stream', body: 'retry: 100\n\n' }),
    );
    await page.goto('/console/agents');
    await page.getByRole('row').nth(1).waitFor();
    answers = 'refusal';
    await page.waitForResponse((response) => response.status() === 503);
    const { agentId } = await server.agent({ email: 'late@example.com' });
    assert.equal(await page.getByRole('row', { name: /late@/ }).count(), 0, agentId);
    answers = 'real';
    await page.getByRole('row', { name: /late@/ }).waitFor();
  },
);

browserTest('a time range with a year of six digits is no filter, and no error', async (t) => {
  const page = await server.open(t, '/audit', { keep: true });
  await page.getByRole('button', { name: 'More filters' }).click();
  await page.getByRole('button', { name: 'Any time' }).click();
  await page.getByLabel('From (UTC)').fill('202611-01-01T00:00');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByLabel('From (UTC)').waitFor({ state: 'detached' });
  assert.doesNotMatch(page.url(), /from=/);
});

browserTest('a text filter keeps what is typed while its value is on the way to the address', async (t) => {
  const page = await server.open(t, '/agents');
  const field = page.getByRole('search', { name: 'Filters' }).getByRole('textbox').first();
  await field.waitFor();
  // One more key at the moment at which the first text gets into the address.
  await page.evaluate(`(() => {
    const input = document.querySelector('search[aria-label="Filters"] input');
    const setValue = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
    for (const name of ['pushState', 'replaceState']) {
      const original = history[name].bind(history);
      history[name] = (...all) => {
        original(...all);
        if (input.value !== 'ab') return;
        setValue.call(input, 'abc');
        input.dispatchEvent(new Event('input', { bubbles: true }));
      };
    }
  })()`);
  await field.fill('ab');
  await page.waitForURL(/[?&]\w+=abc\b/);
  assert.equal(await field.inputValue(), 'abc');
  await page.getByRole('button', { name: /^Remove filter/ }).click();
  await page.waitForURL(/agents$/);
  assert.equal(await field.inputValue(), '');
});

browserTest('429 the console waits for Retry-After and tries again once, visibly', async (t) => {
  const page = await server.open(t, '/', { keep: true });
  await overview(page).waitFor();
  let answers = 0;
  await page.context().route('**/console/api/v1/agents?*', (route) => {
    answers += 1;
    return answers === 1
      ? route.fulfill({
          status: 429,
          headers: { 'retry-after': '1' },
          json: { code: 'RATE_LIMIT_EXCEEDED', message: 'Slow' },
        })
      : route.continue();
  });
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('operator');
  await page.getByText('Too many requests').waitFor({ state: 'attached' });
  await page.getByRole('option', { name: /operator-/ }).waitFor();
  assert.equal(answers, 2);
});

browserTest('hostile names in the shell are shown as text', async (t) => {
  const hostile = `<img src=x onerror=alert(1)> \u202Egnp.exe ${'long'.repeat(30)}`;
  const payload = { name: hostile.slice(0, 100), slug: `hostile-${crypto.randomUUID().slice(0, 8)}` };
  const token = await server.token();
  const organization = await server.call('POST', '/api/v1/organizations', { token, payload });
  const agent = await server.agent(
    organization.status === 201 ? { organization_id: organization.json.organizationId } : {},
  );
  const page = await server.open(t, '/', { as: agent });
  await overview(page).waitFor();
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 800 });
    await accountMenu(page).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).waitFor();
    assert.equal(await page.locator('img[src="x"]').count(), 0);
    await assertNoSidewaysScroll(page);
    if (organization.status === 201)
      await page.getByText('<img src=x onerror=alert(1)> ␣gnp.exe').first().waitFor();
    await page.keyboard.press('Escape');
  }
});

test('the initial JavaScript is at most 250 KB gzipped, and index.html has no code of its own', () => {
  const { initialScript = 0 } = currentBuild() ?? {};
  assert.ok(initialScript > 0 && initialScript <= maxInitialScript, `${initialScript} bytes`);
  const html = readFileSync(new URL('../../dist/console/index.html', import.meta.url), 'utf8');
  assert.doesNotMatch(html, /<script(?![^>]* src=)|<style|javascript:|\son\w+=/);
  assert.match(html, /<meta name="csp-nonce" content="__CSP_NONCE__"/);
  const assets = readdirSync(new URL('../../dist/console/assets/', import.meta.url));
  const scripts = assets.filter((name) => /\.(js|css)$/.test(name));
  assert.deepEqual(
    scripts.filter((name) => !assets.includes(`${name}.gz`)),
    [],
    'assets without a compressed copy',
  );
});
