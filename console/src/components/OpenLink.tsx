import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import classes from './AgentName.module.css';

interface OpenLinkProps {
  readonly id: string;
  readonly children: ReactNode;
}

/** Opens the details of a row beside its list: the link in the first cell. */
export const OpenLink = ({ id, children }: OpenLinkProps) => (
  <Link
    to="."
    {...({ search: (current: object) => ({ ...current, selected: id }) } as object)}
    resetScroll={false}
    className={classes.link}
  >
    {children}
  </Link>
);
