import { Fragment } from 'react';
import { TenantText } from '../../components/TenantText.tsx';

/** Names of witnesses, which their operators chose. */
export const NameList = ({ names }: { readonly names: readonly string[] }) =>
  names.map((name, at) => (
    <Fragment key={name}>
      {at > 0 && ', '}
      <TenantText text={name} />
    </Fragment>
  ));
