import { Component, type ReactNode } from 'react';
import { ErrorState } from '../components/ErrorState.tsx';

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
    // A chunk of an older build is gone after an update of the server.
    const isStale = /dynamically imported module|Importing a module script failed/.test(error.message);
    return (
      <ErrorState
        error={isStale ? new Error('The console was updated. Reload the page.') : error}
        title="This page cannot be shown"
        retryLabel="Reload"
        onRetry={() => location.reload()}
      />
    );
  }
}
