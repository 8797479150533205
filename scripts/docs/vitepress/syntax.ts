/** Colours of code as classes: the Content-Security-Policy allows no style attributes. theme/style.css has the colours. */
import type { MarkdownOptions } from 'vitepress';

const kinds = {
  comment: ['comment', 'punctuation.definition.comment'],
  string: ['string', 'punctuation.definition.string'],
  number: ['constant', 'support.constant'],
  keyword: ['keyword', 'storage', 'keyword.operator'],
  function: ['entity.name.function', 'support.function', 'entity.name.command'],
  name: [
    'entity.name.tag',
    'support.type.property-name',
    'meta.object-literal.key',
    'entity.other.attribute-name',
  ],
} as const;
const names = Object.keys(kinds) as (keyof typeof kinds)[];

/** A colour per kind, which becomes its class. */
const colorOf = (name: keyof typeof kinds): string => `#00000${names.indexOf(name) + 1}`;
const foreground = '#000000';

export const codeTheme = {
  name: 'countersign',
  type: 'light',
  colors: { 'editor.foreground': foreground, 'editor.background': '#ffffff' },
  tokenColors: names.map((name) => ({
    scope: [...kinds[name]],
    settings: { foreground: colorOf(name) },
  })),
} satisfies MarkdownOptions['theme'];

type Transformer = NonNullable<MarkdownOptions['codeTransformers']>[number];

export const withClasses: Transformer = {
  name: 'classes instead of styles',
  pre(node) {
    delete node.properties.style;
  },
  span(node) {
    const style = String(node.properties.style ?? '').toLowerCase();
    const name = names.find((one) => style.includes(colorOf(one)));
    if (name) this.addClassToHast(node, `code-${name}`);
    delete node.properties.style;
  },
};
