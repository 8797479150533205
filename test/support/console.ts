/**
 * The console in a browser: a server in this process, the Chromium of the run, a signed-in page per test. Everything that goes
 * wrong on a page (errors, CSP violations, requests to other hosts, a crash) fails the test that opened it.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { after, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import axe from 'axe-core';
import type { BrowserContext, Download, Locator, Page } from 'playwright-core';
import { createBrowser } from './browser.ts';
import { skipWithout, startApp, type TestApp } from './harness.ts';
import { type Client, findBrowser, freePort, until } from './programs.ts';
import { tabOrder } from './tab-order.ts';

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
  /** The page stays open for the tests after it that keep a page of the same client. It has the answers to earlier tests in its cache. */
  readonly keep?: boolean;
  /** Problems that this test expects, besides answers with an error status. */
  readonly allow?: readonly RegExp[];
}

export interface ConsoleServer extends TestApp {
  /** The origin of the server. */
  readonly url: string;
  /** Opens a path below /console, such as `/agents`, in a page of its own without cookies and storage, which ends with the test. */
  open(t: TestContext, path?: string, options?: OpenOptions): Promise<Page>;
}

/** Opens the closed part of a form that has `title`. */
export const openSection = (place: Page | Locator, title: string): Promise<void> =>
  place.locator('summary', { hasText: title }).click();

/** A test that is skipped, visibly, where there is no Chromium. */
export const browserTest = (name: string, work: (t: TestContext) => Promise<void>): void =>
  void test(name, async (t) => {
    if (!executablePath) return skipWithout(t, 'Chromium');
    assert.ok(existsSync(builtPage), 'dist/console is missing: npm run build:console');
    await work(t);
  });

/** The server, with all its loops, on a port of its own. `changes` are environment variables. */
export async function startConsole(
  changes: Record<string, string> = {},
  options: Parameters<typeof startApp>[2] = {},
): Promise<ConsoleServer> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let kept: KeptPage | undefined;
  // Before the server ends.
  after(() => kept?.close());
  const app = await startApp({ BASE_URL: url, ...changes }, undefined, options);
  app.app.loops.start();
  await app.app.http.server.listen({ host: '127.0.0.1', port });
  const contexts = createContexts(url);

  async function openPage(as: Client | null): Promise<KeptPage> {
    const { context, release } = await contexts.take();
    const { problems, stop } = watch(context, url);
    if (as) await signIn(context, url, as);
    const page = await context.newPage();
    const close = async () => {
      await release();
      stop();
    };
    return { as, page, problems, close };
  }

  return {
    ...app,
    url,
    async open(
      t,
      path = '/',
      { as = app.operator, width = 1280, height = 800, theme = 'light', keep = false, allow = [] } = {},
    ) {
      const before = keep ? kept : undefined;
      if (keep) kept = undefined;
      if (before && before.as !== as) await before.close();
      const isOpen = before?.as === as;
      const one = isOpen ? before : await openPage(as);
      const { page, problems, close } = one;
      t.after(async () => {
        if (keep && t.passed) kept = one;
        else await close();
        const unexpected = problems.splice(0).filter((text) => !allow.some((pattern) => pattern.test(text)));
        assert.deepEqual(unexpected, [], 'problems on the page');
      });
      await page.setViewportSize({ width, height });
      if (isOpen || theme !== 'light') await page.emulateMedia({ colorScheme: theme });
      if (isOpen) {
        await leave(page);
        await goTo(page, path);
      } else await page.goto(`/console${path === '/' ? '' : path}`);
      return page;
    },
  };
}

interface KeptPage {
  readonly as: Client | null;
  readonly page: Page;
  readonly problems: string[];
  close(): Promise<void>;
}

/** Ends what a test has begun on the page. */
async function leave(page: Page): Promise<void> {
  page.removeAllListeners('request');
  await page.context().unrouteAll({ behavior: 'ignoreErrors' });
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await goTo(page, '/no/such/page');
  await page
    .getByRole('heading', { name: 'Page not found', includeHidden: true })
    .waitFor({ state: 'attached' });
  await page.keyboard.press('Escape');
}

/**
 * Browser contexts of one test file. A context that a test has released is emptied and used again: it has the files of the console in its
 * cache, and their compiled code in its process, which an idle page keeps.
 */
function createContexts(url: string) {
  const connect = createBrowser();
  const free: { context: BrowserContext; idle: Page }[] = [];

  const create = async () => {
    const context = await (await connect()).newContext({
      baseURL: url,
      viewport: { width: 1280, height: 800 },
      colorScheme: 'light',
      // A transition shows colours that are in neither theme.
      reducedMotion: 'reduce',
    });
    context.setDefaultTimeout(timeout);
    const idle = await context.newPage();
    await idle.goto('/health');
    return { context, idle };
  };

  return {
    async take() {
      const browser = await connect();
      const one = free.pop() ?? (await create());
      const { context, idle } = one;
      // Playwright cannot remove scripts and clocks from a context.
      let isChanged = false;
      const noteChanges = <Name extends string>(owner: Record<Name, unknown>, name: Name) => {
        const original = owner[name] as (...all: unknown[]) => unknown;
        owner[name] = (...all: unknown[]) => {
          isChanged = true;
          return original.apply(owner, all);
        };
        return () => Object.assign(owner, { [name]: original });
      };
      const stopNoting = [noteChanges(context, 'addInitScript'), noteChanges(context.clock, 'install')];
      const release = async () => {
        assert.ok(browser.isConnected(), 'Chromium ended during this test');
        if (isChanged) return context.close();
        for (const stop of stopNoting) stop();
        await Promise.all(context.pages().map((page) => page !== idle && page.close()));
        await context.unrouteAll({ behavior: 'ignoreErrors' });
        await context.clearPermissions();
        await context.clearCookies();
        await idle.evaluate('localStorage.clear()');
        free.push(one);
      };
      return { context, release };
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

function watch(context: BrowserContext, url: string) {
  const problems: string[] = [];
  const stopping = new AbortController();
  const on = ((event: 'console', listener: () => void) => {
    context.on(event, listener);
    stopping.signal.addEventListener('abort', () => context.off(event, listener));
  }) as BrowserContext['on'];
  on('console', (message) => {
    // Chromium also reports each answer with an error status, which pages have to show anyway.
    if (['error', 'warning'].includes(message.type()) && !/^Failed to load resource/.test(message.text()))
      problems.push(message.text());
  });
  on('weberror', (error) => void problems.push(String(error.error().stack)));
  on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (origin !== url && !['data:', 'blob:'].includes(protocol)) problems.push(`foreign: ${request.url()}`);
  });
  on('page', (page) => page.on('crash', () => problems.push(`Chromium: the page ${page.url()} crashed`)));
  return { problems, stop: () => stopping.abort() };
}

/** Rows of one table are alike. The header and the navigation are the same on each page: `whole` includes them. */
const repeated = ['tbody tr:nth-child(n + 5)'];
const shell = ['header', '#navigation'];
/** The page behind a dialog is checked without it. */
const behindDialog = ['#root'];

/** The console, and the documentation. */
const inScheme = {
  light: 'html[data-mantine-color-scheme="light"], html:not(.dark, [data-mantine-color-scheme])',
  dark: 'html[data-mantine-color-scheme="dark"], html.dark',
};

/** No violation of WCAG 2.2 AA: all rules in the light theme, and the contrast, which alone depends on the theme, in the dark one. */
export async function assertAccessible(page: Page, { whole = false } = {}): Promise<void> {
  const inDialog = (await page.locator('[role=dialog][aria-modal=true]').count()) > 0;
  const exclude = [...repeated, ...(whole ? [] : inDialog ? behindDialog : shell)];
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe.source);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.locator(inScheme[colorScheme]).waitFor();
    const runOnly =
      colorScheme === 'light' ? { type: 'tag', values: wcag } : { type: 'rule', values: ['color-contrast'] };
    const found = await page.evaluate<string[]>(`(async () => {
      // A colour in transition is in neither theme.
      const transitions = document.getAnimations().filter((one) => one instanceof CSSTransition);
      await Promise.allSettled(transitions.map(({ finished }) => finished));
      const { violations } = await axe.run(
        { exclude: ${JSON.stringify(exclude)} },
        { resultTypes: ['violations'], runOnly: ${JSON.stringify(runOnly)} },
      );
      return violations.map(({ id, nodes }) => id + ' (${colorScheme}): ' +
        nodes.slice(0, 3).map(({ html, failureSummary }) => html + '\\n' + failureSummary).join('\\n'));
    })()`);
    assert.deepEqual(found, [], 'axe');
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

/** The page itself does not scroll sideways, as soon as charts and tables have taken the width of the window. */
export async function assertNoSidewaysScroll(page: Page): Promise<void> {
  let widths: [content: number, window: number] | undefined;
  const fits = async () => {
    widths = await page.evaluate(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
    );
    return (widths && widths[0] <= widths[1]) || undefined;
  };
  await until('the page fits', fits, undefined, 10_000).catch(() =>
    assert.fail(`the page is ${widths?.[0]} px wide in a window of ${widths?.[1]} px`),
  );
}

/** The page scrolls sideways at none of these widths, and has the last one afterwards. */
export async function assertFits(page: Page, widths: readonly number[]): Promise<void> {
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 });
    await settle(page);
    await assertNoSidewaysScroll(page).catch((error) => assert.fail(`at ${width} px: ${error.message}`));
  }
}

/** Presses a key until the element has the focus. */
export async function pressTo(page: Page, target: Locator, key = 'Tab', maxSteps = 60): Promise<void> {
  for (let step = 0; step < maxSteps; step += 1) {
    if (await target.evaluate((element) => element.matches(':focus'))) return;
    await page.keyboard.press(key);
  }
  throw new Error(`${target} has no focus after ${maxSteps} × ${key}`);
}

/** The element gets the focus as the Tab key gives it, as soon as it is in the tab order. */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  await until(
    `${target} in the tab order of ${page.url()}`,
    async () => {
      await target.evaluate((element) => void Object.assign(globalThis, { tabTarget: element }));
      const isReached = await page.evaluate<boolean>(`(() => {
        if (!${tabOrder}.includes(tabTarget)) return false;
        tabTarget.focus({ focusVisible: true });
        return document.activeElement === tabTarget;
      })()`);
      return isReached || undefined;
    },
    undefined,
    timeout,
  );
}

/** What a test has downloaded. The browser of a run may be on another computer, for all that Playwright knows. */
export const contentOf = async (download: Download): Promise<Buffer> =>
  buffer(await download.createReadStream());

/** Leads to another page of the console as its links do, without loading the document again. */
export const goTo = (page: Page, path: string): Promise<unknown> =>
  page.evaluate(
    `history.pushState({}, '', ${JSON.stringify(`/console${path}`)}); dispatchEvent(new PopStateEvent('popstate'))`,
  );

/** Nothing loads any more. */
export async function settle(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor();
  await page
    .getByRole('status', { name: /^Loading/ })
    .first()
    .waitFor({ state: 'detached' });
  await page.locator('[data-fetching]').first().waitFor({ state: 'detached' });
}
