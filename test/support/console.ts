/**
 * The console in a browser: a server in this process, Chromium once per test file, a signed-in page per test. Everything that goes
 * wrong on a page (errors, CSP violations, requests to other hosts) fails the test that opened it.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core';
import { skipWithout, startApp, type TestApp } from './harness.ts';
import { type Client, findBrowser, freePort } from './programs.ts';

const executablePath = findBrowser();
const builtPage = fileURLToPath(new URL('../../dist/console/index.html', import.meta.url));
// Two cores run four test files at a time.
const timeout = 60_000;
const wcag = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

export type Theme = 'light' | 'dark';

export interface OpenOptions {
  /** Who signs in; the operator by default, `null` for no session. */
  readonly as?: Client | null;
  readonly width?: number;
  readonly height?: number;
  readonly theme?: Theme;
  /** Problems that this test expects, besides answers with an error status. */
  readonly allow?: readonly RegExp[];
}

export interface ConsoleServer extends TestApp {
  /** The origin of the server. */
  readonly url: string;
  /** Opens a path below /console, such as `/agents`, in a browser context of its own, which ends with the test. */
  open(t: TestContext, path?: string, options?: OpenOptions): Promise<Page>;
}

/** A test that is skipped, visibly, where there is no Chromium. */
export const browserTest = (name: string, work: (t: TestContext) => Promise<void>): void =>
  void test(name, async (t) => {
    if (!executablePath) return skipWithout(t, 'Chromium');
    assert.ok(existsSync(builtPage), 'dist/console is missing: npm run build:console');
    await work(t);
  });

/** The server, with all its loops, on a port of its own. `changes` are environment variables. */
export async function startConsole(changes: Record<string, string> = {}): Promise<ConsoleServer> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const app = await startApp({ BASE_URL: url, ...changes });
  app.app.loops.start();
  await app.app.http.server.listen({ host: '127.0.0.1', port });
  let browser: Promise<Browser> | undefined;
  after(async () => (await browser)?.close());

  return {
    ...app,
    url,
    async open(
      t,
      path = '/',
      { as = app.operator, width = 1280, height = 800, theme = 'light', allow = [] } = {},
    ) {
      browser ??= chromium.launch({ executablePath: executablePath as string });
      const context = await (await browser).newContext({
        baseURL: url,
        viewport: { width, height },
        colorScheme: theme,
        // A transition shows colours that are in neither theme.
        reducedMotion: 'reduce',
      });
      context.setDefaultTimeout(timeout);
      const problems = await watch(context, url);
      t.after(async () => {
        await context.close();
        const unexpected = problems.filter((problem) => !allow.some((pattern) => pattern.test(problem)));
        assert.deepEqual(unexpected, [], 'problems on the page');
      });
      if (as) await signIn(context, url, as);
      const page = await context.newPage();
      await page.goto(`/console${path === '/' ? '' : path}`);
      return page;
    },
  };
}

/** Signs in without the form. */
async function signIn(context: BrowserContext, url: string, { clientId, clientSecret }: Client) {
  const response = await context.request.post('/console/api/session', {
    headers: { origin: url, 'x-countersign-console': '1' },
    data: { clientId, clientSecret },
  });
  assert.equal(response.status(), 204, await response.text());
}

async function watch(context: BrowserContext, url: string): Promise<string[]> {
  const problems: string[] = [];
  context.on('console', (message) => {
    // Chromium also reports each answer with an error status, which pages have to show anyway.
    if (['error', 'warning'].includes(message.type()) && !/^Failed to load resource/.test(message.text()))
      problems.push(message.text());
  });
  context.on('weberror', (error) => problems.push(String(error.error().stack)));
  context.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (origin !== url && !['data:', 'blob:'].includes(protocol)) problems.push(`foreign: ${request.url()}`);
  });
  return problems;
}

/** No violation of WCAG 2.2 AA: all rules in the light theme, and the contrast, which alone depends on the theme, in the dark one. */
export async function assertAccessible(page: Page, ...exclude: string[]): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor();
    const builder = new AxeBuilder({ page }).setLegacyMode();
    if (colorScheme === 'light') builder.withTags(wcag);
    else builder.withRules(['color-contrast']);
    for (const selector of exclude) builder.exclude(selector);
    const { violations } = await builder.analyze();
    const found = violations.map(
      ({ id, nodes }) =>
        `${id} (${colorScheme}): ${nodes
          .slice(0, 3)
          .map(({ html, failureSummary }) => `${html}\n${failureSummary}`)
          .join('\n')}`,
    );
    assert.deepEqual(found, [], 'axe');
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

/** The page itself never scrolls sideways. */
export async function assertNoSidewaysScroll(page: Page): Promise<void> {
  const [content, window] = await page.evaluate<[number, number]>(
    '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
  );
  assert.ok(content <= window, `the page is ${content} px wide in a window of ${window} px`);
}

/** Presses Tab (or another key) until the element has the focus, as a person without a mouse does. */
export async function tabTo(page: Page, target: Locator, maxSteps = 60, key = 'Tab'): Promise<void> {
  for (let step = 0; step < maxSteps; step += 1) {
    if (await target.evaluate((element) => element.matches(':focus'))) return;
    await page.keyboard.press(key);
  }
  throw new Error(`${target} has no focus after ${maxSteps} × ${key}`);
}

/** Nothing loads any more. */
export async function settle(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor();
  await page
    .getByRole('status', { name: /^Loading/ })
    .first()
    .waitFor({ state: 'detached' });
  await page.locator('[data-fetching]').first().waitFor({ state: 'detached' });
}
