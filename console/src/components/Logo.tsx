import classes from './Logo.module.css';

/** The seal: a ring with a check mark. */
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
      <circle cx="16" cy="16" r="14.2" strokeWidth="2" strokeDasharray="2.2 2.51" />
      <circle cx="16" cy="16" r="10.6" strokeWidth="2.2" />
      <path d="M11.2 16.4l3.4 3.4 6.4-7.2" strokeWidth="2.8" />
    </svg>
  );
}
