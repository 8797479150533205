/** One Chromium for all test files of a process. Each file that runs alone starts its own. */
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { type Browser, chromium } from 'playwright-core';
import { findBrowser } from './programs.ts';

export interface BrowserLauncher {
  /** Launches it at the first call. */
  get(): Promise<Browser>;
  close(): Promise<void>;
}

export function createBrowserLauncher(): BrowserLauncher {
  let launching: Promise<Browser> | undefined;
  return {
    async get() {
      launching ??= chromium.launch({
        // Pages of one context share a process, and the code that it has compiled: a page loads in half of the CPU time.
        args: ['--process-per-site'],
        executablePath: findBrowser() as string,
        // A signal ends this process, and Chromium ends with its pipe. Playwright would catch the signal.
        handleSIGINT: false,
        handleSIGTERM: false,
        handleSIGHUP: false,
      });
      const browser = await launching;
      assert.ok(browser.isConnected(), 'Chromium has ended');
      return browser;
    },
    close: async () => (await launching)?.close(),
  };
}

const shared = createBrowserLauncher();
let isKept = false;

/** For a module that runs several test files: their browser stays open, until the returned function closes it. */
export function keepBrowser(): () => Promise<void> {
  isKept = true;
  return shared.close;
}

/** Call it at the top level of a test file: outside of `keepBrowser` the browser ends with the file. */
export function createBrowser(): () => Promise<Browser> {
  if (!isKept) after(shared.close);
  return shared.get;
}
