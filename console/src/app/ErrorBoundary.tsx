import { Component, type ReactNode } from 'react';
import { ErrorState } from '../components/ErrorState.tsx';

const chunkMissing =
  'A part of the console could not be loaded: the console was updated, or too many requests came from your address. Reload the page; if this comes again, wait a minute.';

/** Shows an error of the console's own code instead of an empty page. A class, because React knows no other way. */
export class ErrorBoundary extends Component<
  { readonly children: ReactNode },
  { readonly error: Error | null }
> {
  override state: { readonly error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    // A chunk of an older build is gone after an update of the server, or the rate limit has refused it.
    const isStale = /dynamically imported module|Importing a module script failed/.test(error.message);
    return (
      <ErrorState
        error={isStale ? new Error(chunkMissing) : error}
        title="This page cannot be shown"
        retryLabel="Reload"
        onRetry={() => location.reload()}
      />
    );
  }
}
