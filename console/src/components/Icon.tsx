/** An icon in the colour of the text. Decorative: the control beside it has the name. */
import classes from './Icon.module.css';
import { type IconName, iconPaths } from './icon-paths.ts';

export type { IconName };

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
      <path d={iconPaths[name]} />
    </svg>
  );
}
