import { EmptyState } from './EmptyState.tsx';
import { RequestId } from './ErrorAlert.tsx';
import { PageTitle } from './PageTitle.tsx';

interface NoPermissionProps {
  /** The title of the page, when the state fills it. */
  readonly title?: string | undefined;
  /** The scope that the session lacks. */
  readonly scope?: string | undefined;
  /** The API's message, when a request was refused. */
  readonly text?: string | undefined;
  readonly requestId?: string | undefined;
}

/** The session may not see this. */
export function NoPermission({ title, scope, text, requestId }: NoPermissionProps) {
  return (
    <>
      {title && <PageTitle title={title} />}
      <EmptyState
        icon="lock"
        title="You have no permission to see this"
        text={
          <>
            {text ??
              (scope ? (
                <>
                  This needs the scope <code>{scope}</code>.{' '}
                </>
              ) : (
                'This is for the operator of the instance. '
              ))}
            {!text && 'An admin of your organization can change what your agent may hold.'}
            <RequestId id={requestId} />
          </>
        }
      />
    </>
  );
}
