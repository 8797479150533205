import classes from './Logo.module.css';

/** The mark: a C, and the second signature that closes it. The same drawing is in public/favicon.svg. */
export function Logo({ size }: { readonly size: number }) {
  return (
    <svg
      className={classes.logo}
      width={size}
      height={size}
      viewBox="0 0 32 32"
      aria-hidden="true"
      focusable="false"
    >
      <rect width="32" height="32" rx="8" />
      <path d="M19.9 8.4a9 9 0 1 0 2.6 13.8" />
      <path d="M11.6 16.4l3.8 3.9L25.6 9.4" />
    </svg>
  );
}
