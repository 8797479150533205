import { Button } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { EmptyState } from '../components/EmptyState.tsx';
import { PageTitle } from '../components/PageTitle.tsx';
import { PageLink } from './navigation.tsx';

/** For an address under /console that is no page. */
export function NotFound() {
  useDocumentTitle('Page not found · Countersign');
  return (
    <>
      <PageTitle title="Page not found" />
      <EmptyState
        title="There is no page at this address"
        text="The link may be old, or mistyped."
        action={
          <Button component={PageLink} to="/">
            Go to the overview
          </Button>
        }
      />
    </>
  );
}
