/** A browser without pages: follows redirects between the instance under test and other servers, and keeps cookies by origin and path. */
import type { Answer, TestApp } from '../harness.ts';

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  /** The line as the server sent it. */
  readonly line: string;
}

export interface BrowserAnswer extends Pick<Answer, 'status' | 'text' | 'json'> {
  /** Where the last redirect led to, or the address that was asked for. */
  readonly url: URL;
  readonly location: string | undefined;
  readonly setCookies: readonly string[];
}

export interface BrowserRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly payload?: object;
  readonly form?: Record<string, string>;
  readonly headers?: Record<string, string>;
}

export type TestBrowser = ReturnType<typeof createBrowser>;

/** `baseUrl`: the public address of the instance; requests to it are injected. */
export function createBrowser(t: TestApp, baseUrl: string) {
  const jars = new Map<string, Cookie[]>();
  const jarOf = ({ origin }: URL): Cookie[] => jars.get(origin) ?? [];

  const store = (url: URL, lines: readonly string[]) => {
    for (const line of lines) {
      const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
      const [name = '', value = ''] = pair.split(/=(.*)/s);
      const attribute = (wanted: string) =>
        attributes.map((text) => text.split('=')).find(([key]) => key?.toLowerCase() === wanted)?.[1];
      const path = attribute('path') ?? '/';
      const ended =
        attribute('max-age') === '0' || Date.parse(attribute('expires') ?? '9999-01-01') < Date.now();
      const others = jarOf(url).filter((cookie) => cookie.name !== name || cookie.path !== path);
      jars.set(url.origin, ended ? others : [...others, { name, value, path, line }]);
    }
  };

  const cookieHeader = (url: URL): string =>
    jarOf(url)
      .filter(({ path }) => url.pathname === path || url.pathname.startsWith(path.replace(/\/?$/, '/')))
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');

  /** One request, without following a redirect. */
  const request = async (address: string | URL, options: BrowserRequest = {}): Promise<BrowserAnswer> => {
    const url = new URL(address, baseUrl);
    const { method = 'GET', payload, form, headers = {} } = options;
    const cookies = cookieHeader(url);
    const sent = { ...(cookies && { cookie: cookies }), ...headers };
    if (url.origin === new URL(baseUrl).origin) {
      const answer = await t.call(method, url.pathname + url.search, {
        headers: sent,
        ...(payload && { payload }),
      });
      const setCookies = [answer.headers['set-cookie'] ?? []].flat().map(String);
      store(url, setCookies);
      const { status, text } = answer;
      const location = answer.headers.location as string | undefined;
      return { status, text, url, location, setCookies, json: text === '' ? undefined : safeJson(text) };
    }
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      headers: sent,
      ...(form && { body: new URLSearchParams(form) }),
    });
    const setCookies = response.headers.getSetCookie();
    store(url, setCookies);
    const text = await response.text();
    return {
      status: response.status,
      text,
      url,
      location: response.headers.get('location') ?? undefined,
      setCookies,
      json: safeJson(text),
    };
  };

  /** Follows redirects until a page, or until `stopAt` is the next address. */
  const visit = async (
    address: string | URL,
    options: BrowserRequest & { stopAt?: string } = {},
  ): Promise<BrowserAnswer> => {
    const { stopAt, ...first } = options;
    let answer = await request(address, first);
    for (let hops = 0; answer.location !== undefined && hops < 20; hops += 1) {
      const next = new URL(answer.location, answer.url);
      if (stopAt !== undefined && next.href.includes(stopAt)) return answer;
      if (isPage(next, baseUrl)) return { ...answer, url: next };
      answer = await request(next);
    }
    return answer;
  };

  /** Sends the first form of a page, with its hidden fields. */
  const submit = (
    { text, url }: BrowserAnswer,
    form: Record<string, string> = {},
    options: { stopAt?: string } = {},
  ): Promise<BrowserAnswer> => {
    const [tag = '', ...inputs] =
      text.slice(text.indexOf('<form')).match(/<form\b[^>]*>|<input\b[^>]*>/gs) ?? [];
    const hidden = inputs
      .filter((input) => attributeOf(input, 'type') === 'hidden')
      .map((input) => [attributeOf(input, 'name') ?? '', attributeOf(input, 'value') ?? '']);
    const action = new URL(attributeOf(tag, 'action') ?? '', url);
    return visit(action, {
      method: 'POST',
      form: { ...Object.fromEntries(hidden), ...form },
      ...options,
    });
  };

  /** A change from a page of the console. */
  const change = (method: BrowserRequest['method'], address: string, payload?: object) =>
    request(address, {
      ...(method && { method }),
      ...(payload && { payload }),
      headers: { 'sec-fetch-site': 'same-origin', 'x-countersign-console': '1' },
    });

  return { request, visit, submit, change, cookies: (address: string) => jarOf(new URL(address, baseUrl)) };
}

const attributeOf = (tag: string, name: string): string | undefined =>
  new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]?.replaceAll('&amp;', '&');

/** The console's pages are not built in these tests. */
const isPage = ({ origin, pathname }: URL, baseUrl: string): boolean =>
  origin === new URL(baseUrl).origin && !pathname.startsWith('/console/api/');

function safeJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
