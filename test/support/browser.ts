/**
 * One Chromium for all test files of a run: test/run.ts starts it, and the files connect to it. A file that runs without
 * test/run.ts starts its own.
 */
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { type Browser, type BrowserServer, chromium } from 'playwright-core';
import { findBrowser } from './programs.ts';

const options = {
  // Pages of one context share a process, and the code that it has compiled: a page loads in half of the CPU time.
  args: ['--process-per-site'],
  // The process that starts it closes it.
  handleSIGINT: false,
  handleSIGTERM: false,
  handleSIGHUP: false,
};

/** Undefined where no Chromium is installed. `ended` gets the reason when it ends before `close`. */
export async function startBrowser(ended: (reason: string) => void): Promise<BrowserServer | undefined> {
  const executablePath = findBrowser();
  if (!executablePath) return undefined;
  const server = await chromium.launchServer({ ...options, host: '127.0.0.1', executablePath });
  const close = server.close.bind(server);
  let isClosing = false;
  server.on('close', () => {
    const { exitCode, signalCode } = server.process();
    if (!isClosing) ended(`Chromium ended during the tests (${signalCode ?? `exit code ${exitCode}`})`);
  });
  return Object.assign(server, {
    close() {
      isClosing = true;
      return close();
    },
  });
}

/**
 * Returns a function that connects at its first call to the browser of the run, or starts one for this file. Call it at the top level of a
 * test file: the connection ends with the file.
 */
export function createBrowser(address = process.env.TEST_BROWSER): () => Promise<Browser> {
  let connecting: Promise<Browser> | undefined;
  after(async () => (await connecting)?.close());
  return async () => {
    connecting ??= connect(address);
    const browser = await connecting;
    assert.ok(browser.isConnected(), 'Chromium has ended');
    return browser;
  };
}

const connect = (address: string | undefined): Promise<Browser> =>
  address
    ? chromium.connect(address)
    : chromium.launch({ ...options, executablePath: findBrowser() as string });
