/**
 * The box of VitePress's search is a button that contains others, and each of its results contains a link. Here it is a dialog with a
 * combobox, whose options are the links (ARIA Authoring Practices).
 */
import type { Plugin } from 'vite';

const changes: readonly (readonly [from: string, to: string])[] = [
  // The label has an icon, and no text.
  ['aria-labelledby="localsearch-label"', `:aria-label="translate('button.buttonText')"`],
  [
    `:aria-labelledby="results?.length ? 'localsearch-label' : undefined"`,
    `:aria-label="translate('button.buttonText')"`,
  ],
  ['role="button"', 'role="dialog"'],
  [`:aria-owns="results?.length ? 'localsearch-list' : undefined"`, 'aria-modal="true"'],
  ['aria-expanded="true"\n      aria-haspopup="listbox"\n', ''],
  [
    'ref="searchInput"',
    `ref="searchInput"\n            role="combobox"\n            :aria-expanded="results?.length ? 'true' : 'false'"`,
  ],
  [
    `:id="'localsearch-item-' + index"\n            :aria-selected="selectedIndex === index ? 'true' : 'false'"\n            role="option"`,
    'role="presentation"',
  ],
  [
    ':href="withBase(p.id)"',
    `:href="withBase(p.id)"\n              role="option"\n              :id="'localsearch-item-' + index"\n              :aria-selected="selectedIndex === index ? 'true' : 'false'"`,
  ],
  [`:aria-label="[...p.titles, p.title].join(' > ')"`, ''],
  ['<kbd :aria-label', '<kbd role="img" :aria-label'],
  ['<span class="title-icon">', '<span class="title-icon" aria-hidden="true">'],
];

export const accessibleSearch: Plugin = {
  name: 'accessible search',
  enforce: 'pre',
  transform: {
    filter: { id: /VPLocalSearchBox\.vue$/ },
    handler: (code) =>
      changes.reduce((text, [from, to]) => {
        if (!text.includes(from))
          throw new Error(`VPLocalSearchBox.vue has no ${from}: change ${import.meta.url}`);
        return text.replaceAll(from, to);
      }, code),
  },
};
