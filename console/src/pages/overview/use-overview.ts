import { type ApiOptions, useApi } from '../../api/queries.ts';
import { startOfDay } from './start-of-day.ts';

/** The overview, with the tokens of the reader's day. The page and its guide share one query. */
export const useOverview = (options: ApiOptions = {}) =>
  useApi(
    'getOverview',
    { query: { startOfDay: startOfDay(new Date()) } },
    { ...options, keepPrevious: true },
  );
