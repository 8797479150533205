import type { ApiError } from '../../api/api-error.ts';
import { EmptyState } from '../../components/EmptyState.tsx';

/** Decided, expired, of another browser, or no request at all. */
export const isOver = ({ status, code }: ApiError): boolean =>
  code === 'AUTHORIZATION_REQUEST_NOT_FOUND' || code === 'AUTHORIZATION_REQUEST_DECIDED' || status === 400;

/** The request was decided, has expired, or belongs to another browser: these look alike. */
export const RequestOver = () => (
  <EmptyState
    icon="clock"
    title="This request is over"
    text="It was answered, is older than ten minutes, or began in another browser. Go back to the application and begin again."
  />
);
