/** The site: VitePress with its own theme, a search that runs in the browser, and nothing of another host. */
import { type DefaultTheme, defineConfig } from 'vitepress';
import { slugOf } from '../markdown.ts';
import type { SidebarTrack } from '../navigation.ts';
import { accessibleSearch } from './accessible-search.ts';
import { codeTheme, withClasses } from './syntax.ts';

interface SiteSettings {
  readonly version: string;
  readonly outDir: string;
  readonly tracks: readonly SidebarTrack[];
}

export const createConfig = ({ version, outDir, tracks }: SiteSettings) =>
  defineConfig<DefaultTheme.Config & { tracks: readonly SidebarTrack[] }>({
    base: '/docs/',
    outDir,
    lang: 'en',
    title: 'Countersign',
    titleTemplate: ':title – Countersign',
    description: 'The identity provider for AI agents',
    cleanUrls: true,
    // It would be a style element, which the Content-Security-Policy does not allow.
    appearance: { disableTransition: false },
    // Readers paste the first; the server has the second. links.ts checks all others.
    ignoreDeadLinks: [/^http:\/\/localhost\b/, '/api'],
    head: [['link', { rel: 'icon', type: 'image/svg+xml', href: '/favicon.ico' }]],
    router: { prefetchLinks: false },
    markdown: {
      // Text between angle brackets is text.
      html: false,
      anchor: { slugify: slugOf },
      theme: codeTheme,
      codeTransformers: [withClasses],
    },
    themeConfig: {
      logo: { src: '/favicon.svg', alt: '' },
      siteTitle: 'Countersign',
      nav: [
        { text: 'API reference', link: '/api', target: '_self', noIcon: true },
        { text: `Version ${version}`, link: '/changelog' },
      ],
      // theme/index.ts makes the sidebars of it.
      tracks,
      outline: { level: [2, 3], label: 'On this page' },
      search: { provider: 'local', options: { detailedView: false } },
      notFound: {
        title: 'Page not found',
        quote: 'The address may be mistyped, or the page may have moved.',
        linkText: 'All pages',
        linkLabel: 'All pages',
      },
      docFooter: { prev: 'Previous', next: 'Next' },
      externalLinkIcon: true,
    },
    vite: {
      plugins: [accessibleSearch],
      logLevel: 'warn',
      build: { assetsInlineLimit: 0, reportCompressedSize: false, chunkSizeWarningLimit: 3_000 },
    },
  });
