/** The browser that the tests of the console share: its end is noticed, and no test sees what another one left in it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createBrowserLauncher } from '../support/browser.ts';
import { browserTest, startConsole } from '../support/console.ts';

const server = await startConsole();

browserTest('a browser that ended is no reason to wait', async (t) => {
  const launcher = createBrowserLauncher();
  t.after(launcher.close);
  const browser = await launcher.get();
  const disconnected = once(browser as never, 'disconnected');
  // The command ends with the browser, and gets no answer.
  (await browser.newBrowserCDPSession()).send('Browser.crash').catch(() => {});
  await disconnected;
  await assert.rejects(launcher.get(), /Chromium has ended/);
});

browserTest('a page has no cookie, storage, route or script of the test before', async (t) => {
  await t.test('a test that leaves a cookie, storage and a route', async (inner) => {
    const page = await server.open(inner, '/settings');
    await page.evaluate("localStorage.setItem('left', 'something')");
    await page.context().route('**/health', (route) => route.fulfill({ status: 418 }));
  });
  await t.test('a test that leaves a script', async (inner) => {
    const page = await server.open(inner, '/settings', { as: null });
    assert.deepEqual(await page.context().cookies(), []);
    assert.equal(await page.evaluate("localStorage.getItem('left')"), null);
    assert.equal((await page.goto('/health'))?.status(), 200);
    await page.context().addInitScript('window.left = true');
  });
  await t.test('the next test', async (inner) => {
    const page = await server.open(inner, '/settings', { as: null });
    assert.equal(await page.evaluate('window.left'), undefined);
  });
});
