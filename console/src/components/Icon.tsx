/** Our own line icons, 16 × 16, in the colour of the text. Decorative: the control beside it has the name. */
import classes from './Icon.module.css';

const paths = {
  account: 'M8 8.2a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2.6 14c.5-2.6 2.7-4 5.4-4s4.9 1.4 5.4 4',
  action: 'M8.8 1.8 3.5 9h4l-.6 5.2L12.5 7h-4z',
  agents: 'M3 5.5h10v7H3zM8 5.5V3M6.2 8.6v1M9.8 8.6v1M1.2 8v2.5M14.8 8v2.5',
  apis: 'M5.5 4 2 8l3.5 4M10.5 4 14 8l-3.5 4M9 3 7 13',
  approvals: 'M6.3 9.5c0-1.4-.8-1.9-.8-3.2a2.5 2.5 0 1 1 5 0c0 1.3-.8 1.8-.8 3.2M3 9.5h10V12H3zM3 14.3h10',
  audit: 'M4 1.8h5.5L13 5.2v9H4zM9.3 2v3.4h3.5M6.3 8.2h4.4M6.3 11h4.4',
  back: 'M9.5 3.5 5 8l4.5 4.5',
  chart: 'M2.5 13.5h11M4.5 11V7.5M8 11V3.5M11.5 11V6',
  check: 'm3 8.5 3.4 3.3L13 4.5',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.8V8l2.2 1.6',
  close: 'm4 4 8 8M12 4l-8 8',
  compliance: 'M8 1.8 3 3.6v4.2c0 3 2 5.2 5 6.4 3-1.2 5-3.4 5-6.4V3.6zM5.8 7.8l1.6 1.6 2.9-3',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  delegations:
    'M3.5 5a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM12.5 9.8a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM3.5 14.6a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM5.2 4.1l5.7 3M5.2 11.9l5.7-3',
  docs: 'M8 4C6.5 2.8 4.3 2.6 2 2.8v9.6c2.3-.2 4.5 0 6 1.2 1.5-1.2 3.7-1.4 6-1.2V2.8C11.7 2.6 9.5 2.8 8 4Zm0 0v9.6',
  down: 'm3.5 6 4.5 4.5L12.5 6',
  download: 'M8 2v7.5M4.8 6.6 8 9.8l3.2-3.2M2.5 13.5h11',
  edit: 'M10.8 2.7 13.3 5.2 5.5 13H3v-2.5z',
  external: 'M9.5 2.5h4v4M13.5 2.5 7.5 8.5M11.5 9v4.5h-9v-9H7',
  filter: 'M2 3h12L9.5 8.5V13l-3-1.5v-3z',
  forward: 'M6.5 3.5 11 8l-4.5 4.5',
  key: 'M5.2 11.8a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM7.6 7.2 13.5 3M11 4.8l1.6 2.2',
  lock: 'M3.5 7h9v6.5h-9zM5.5 7V5a2.5 2.5 0 0 1 5 0v2',
  marketplace: 'M2.5 6.5h11v7h-11zM1.8 6.5 3.2 2.5h9.6l1.4 4M6 13.5v-4h4v4',
  moon: 'M13 9.6A5.6 5.6 0 0 1 6.4 3a5.6 5.6 0 1 0 6.6 6.6Z',
  'my-agents':
    'M5.5 7.4a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM1.2 13.6c.3-2.5 2-3.8 4.3-3.8.6 0 1.1.1 1.6.2M9.2 10h5.6v3.8H9.2zM12 10V8.2M11 11.7v.4M13 11.7v.4',
  organization: 'M3 13.5v-11h6v11M9 6h4v7.5M1.5 13.5h13M5 5h2M5 8h2M5 11h2',
  organizations: 'm8 2 6 3-6 3-6-3zM2 8l6 3 6-3M2 11l6 3 6-3',
  overview: 'M2.5 2.5h4.5v5H2.5zM9 2.5h4.5v3H9zM9 8h4.5v5.5H9zM2.5 10H7v3.5H2.5z',
  page: 'M4 1.8h5.5L13 5.2v9H4z',
  plus: 'M8 3v10M3 8h10',
  refresh: 'M13 8a5 5 0 1 1-1.6-3.7M13 2.2v2.6h-2.6',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.3 10.3 13.8 13.8',
  settings:
    'M2 4.5h6.5M11.5 4.5H14M2 11.5h2.5M7.5 11.5H14M10 6a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM6 13a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3Z',
  signals:
    'M8 9.3a1.3 1.3 0 1 0 0-2.6 1.3 1.3 0 0 0 0 2.6ZM5.2 10.8a4 4 0 0 1 0-5.6M10.8 5.2a4 4 0 0 1 0 5.6M3 13a7 7 0 0 1 0-10M13 3a7 7 0 0 1 0 10',
  'sign-out': 'M6 2.5H3v11h3M10 5l3 3-3 3M13 8H6.5',
  sun: 'M8 10.8a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6ZM8 1.2v1.6M8 13.2v1.6M1.2 8h1.6M13.2 8h1.6M3.2 3.2l1.1 1.1M11.7 11.7l1.1 1.1M12.8 3.2l-1.1 1.1M4.3 11.7l-1.1 1.1',
  system: 'M2 3h12v8H2zM6 13.5h4M8 11v2.5',
  table: 'M2.5 3h11v10h-11zM2.5 6.3h11M2.5 9.6h11M6.5 3v10',
  terminal: 'M2 3h12v10H2zM4.5 6l2 2-2 2M8 10.5h3.5',
  trash: 'M3 4.5h10M6 4.5v-2h4v2M4.2 4.5l.6 9h6.4l.6-9',
  trust:
    'M5.6 9.2 3.8 11a2.4 2.4 0 0 1-3-3l2.4-2.4a2.4 2.4 0 0 1 3.4 0M10.4 6.8 12.2 5a2.4 2.4 0 0 1 3 3l-2.4 2.4a2.4 2.4 0 0 1-3.4 0M5.8 8h4.4',
  usage: 'M2.5 11a5.5 5.5 0 1 1 11 0M8 11l2.6-3.4M2.5 13.5h11',
  warning: 'M8 2 1.6 13.5h12.8zM8 6.2v3.6M8 11.8v.01',
  webhooks:
    'M8 4.2a1.9 1.9 0 1 0 0-.1ZM7.1 5.9 4.6 10.4M3.8 14a1.9 1.9 0 1 0 0-3.8 1.9 1.9 0 0 0 0 3.8ZM5.7 12.1h4.6M12.2 14a1.9 1.9 0 1 0 0-3.8 1.9 1.9 0 0 0 0 3.8ZM8.9 5.9l2.5 4.5',
} as const;

export type IconName = keyof typeof paths;

interface IconProps {
  readonly name: IconName;
  readonly size?: number;
}

export function Icon({ name, size = 16 }: IconProps) {
  return (
    <svg
      className={classes.icon}
      width={size}
      height={size}
      viewBox="0 0 16 16"
      aria-hidden="true"
      focusable="false"
    >
      <path d={paths[name]} />
    </svg>
  );
}
