/**
 * The look: one typeface (fonts/fonts.css), one accent colour, one scale of sizes and one of spaces (steps of 4 px), one height of
 * controls, and texts with enough contrast in both schemes. Styles of components take their sizes from here.
 */
import {
  Button,
  type CSSVariablesResolver,
  createTheme,
  Input,
  type MantineColorsTuple,
} from '@mantine/core';

/** The green of the seal. */
const seal: MantineColorsTuple = [
  '#e8f7f5',
  '#d3ece9',
  '#a5d9d4',
  '#73c5be',
  '#4bb4ab',
  '#2c9f96',
  '#12877f',
  '#0b6e69',
  '#085855',
  '#054341',
];

/** Mantine's dark greys with a little of the seal's hue. Index 0 is text, 6 the inputs, 7 the body. */
const dark: MantineColorsTuple = [
  '#d5dbde',
  '#b9c1c6',
  '#98a2a8',
  '#6f7a81',
  '#3a4348',
  '#2c3337',
  '#20262a',
  '#171b1e',
  '#111416',
  '#0c0e10',
];

/** Of buttons, inputs and choices, so that they stand in one row. */
const controlHeight = '2.125rem';

export const theme = createTheme({
  primaryColor: 'seal',
  primaryShade: { light: 7, dark: 7 },
  colors: { seal, dark },
  autoContrast: true,
  luminanceThreshold: 0.35,
  defaultRadius: 'sm',
  cursorType: 'pointer',
  respectReducedMotion: true,
  fontFamily:
    '"Atkinson Hyperlegible Next", system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace:
    '"Atkinson Hyperlegible Mono", ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.125rem' },
  spacing: { xs: '0.5rem', sm: '0.75rem', md: '1rem', lg: '1.5rem', xl: '2rem' },
  radius: { xs: '0.25rem', sm: '0.375rem', md: '0.5rem', lg: '0.75rem', xl: '1rem' },
  headings: {
    fontWeight: '650',
    sizes: {
      h1: { fontSize: '1.375rem', lineHeight: '1.35' },
      h2: { fontSize: '1rem', lineHeight: '1.4' },
      h3: { fontSize: '0.875rem', lineHeight: '1.4' },
    },
  },
  components: {
    Button: Button.extend({
      defaultProps: { size: 'xs' },
      vars: (_, { size }) => ({
        root:
          size === 'xs'
            ? { '--button-height': controlHeight, '--button-fz': 'var(--mantine-font-size-sm)' }
            : {},
      }),
    }),
    Input: Input.extend({
      vars: (_, { size }) => ({
        wrapper: {
          ...((size === 'xs' || size === 'sm') && { '--input-height': controlHeight }),
          ...(size === 'xs' && { '--input-fz': 'var(--mantine-font-size-sm)' }),
        },
      }),
    }),
    ActionIcon: { defaultProps: { variant: 'subtle', color: 'gray' } },
    TextInput: { defaultProps: { size: 'sm' } },
    PasswordInput: { defaultProps: { size: 'sm' } },
    Textarea: { defaultProps: { size: 'sm', autosize: true, minRows: 2 } },
    Select: { defaultProps: { size: 'sm', checkIconPosition: 'right' } },
    MultiSelect: { defaultProps: { size: 'sm' } },
    NumberInput: { defaultProps: { size: 'sm' } },
    Modal: {
      defaultProps: {
        centered: true,
        transitionProps: { duration: 120 },
        closeButtonProps: { 'aria-label': 'Close' },
        styles: { title: { fontWeight: 600 } },
      },
    },
    // They are a Paper, whose padding would show a strip of a long form above the head.
    ModalContent: { defaultProps: { p: 0 } },
    DrawerContent: { defaultProps: { p: 0 } },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: true } },
    Badge: {
      defaultProps: { variant: 'light', radius: 'sm', size: 'md' },
      styles: { root: { fontWeight: 600, letterSpacing: 0 } },
    },
    Paper: { defaultProps: { withBorder: true, p: 'md', radius: 'md' } },
    Drawer: {
      defaultProps: {
        closeButtonProps: { 'aria-label': 'Close' },
        styles: { title: { fontWeight: 600 } },
      },
    },
    Alert: { defaultProps: { variant: 'light' } },
  },
});

/** Mantine's grey for secondary text is too light for WCAG AA. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#555e68',
    '--mantine-color-placeholder': '#666f79',
    '--mantine-color-body': '#ffffff',
    '--console-background': '#f6f8f8',
    '--console-surface': '#ffffff',
    '--console-border': '#dde3e4',
    '--console-hover': '#eef3f3',
    '--console-selected': '#dff1ef',
    '--console-accent': '#0b6e69',
    '--mantine-color-anchor': '#0b6e69',
    '--mantine-color-error': '#c02424',
    // Texts of badges and alerts on their tinted backgrounds.
    '--mantine-color-green-light-color': '#1a5f2b',
    '--mantine-color-yellow-light-color': '#6b4400',
    '--mantine-color-orange-light-color': '#7d3a00',
    '--mantine-color-red-light-color': '#9b1c1c',
    '--mantine-color-blue-light-color': '#145591',
    '--mantine-color-gray-light-color': '#3f474e',
    '--mantine-color-seal-light-color': '#085855',
  },
  dark: {
    '--mantine-color-dimmed': '#a3acb4',
    '--mantine-color-placeholder': '#929ba3',
    '--mantine-color-body': '#171b1e',
    '--console-background': '#111416',
    '--console-surface': '#171b1e',
    '--console-border': '#2c3337',
    '--console-hover': '#20262a',
    '--console-selected': '#143533',
    '--console-accent': '#5fd0c5',
    '--mantine-color-anchor': '#5fd0c5',
    '--mantine-color-error': '#ff8a8a',
    // Mantine's own are a bright brown and a deep red.
    '--mantine-color-yellow-light': '#332a12',
    '--mantine-color-red-light': '#3d1d20',
    '--mantine-color-red-light-color': '#ffb3b3',
    '--mantine-color-yellow-light-color': '#ffd98a',
  },
});
