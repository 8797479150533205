import { EmptyState } from '../../components/EmptyState.tsx';

/** The request was decided, has expired, or belongs to another browser: these look alike. */
export const RequestOver = () => (
  <EmptyState
    icon="clock"
    title="This request is over"
    text="It was answered, is older than ten minutes, or began in another browser. Go back to the application and begin again."
  />
);
