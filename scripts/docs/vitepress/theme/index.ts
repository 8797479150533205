/** VitePress's own theme, with the typeface, the mark and the accent of the console, and a link to it. */
import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme-without-fonts';
import { h } from 'vue';
import { sidebarsOf } from './sidebars.ts';
import '../../../../console/src/app/fonts/fonts.css';
import './style.css';

/** The navigation of the theme leads to pages of the site only. */
const consoleLink = () => h('a', { href: '/console', class: 'console-link' }, 'Console');

export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'nav-bar-content-after': consoleLink,
      'nav-screen-content-after': consoleLink,
    }),
  enhanceApp({ siteData }) {
    const { themeConfig } = siteData.value;
    const sidebar = sidebarsOf(themeConfig.tracks);
    siteData.value = { ...siteData.value, themeConfig: { ...themeConfig, sidebar } };
  },
} satisfies Theme;
