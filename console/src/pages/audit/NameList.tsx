import { Fragment } from 'react';
import { visibleText } from '../../components/TenantText.tsx';
import classes from './Audit.module.css';

/** Names of witnesses, which their operators chose. */
export const NameList = ({ names }: { readonly names: readonly string[] }) =>
  names.map((name, at) => (
    <Fragment key={name}>
      {at > 0 && ', '}
      <bdi className={classes.name}>{visibleText(name)}</bdi>
    </Fragment>
  ));
