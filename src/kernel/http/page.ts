/** Pagination as in the spec: `{data, total, page, limit}`. */
export interface PageRequest {
  readonly page: number;
  readonly limit: number;
}

export interface Page<T> extends PageRequest {
  readonly data: T[];
  readonly total: number;
}

export const offsetOf = ({ page, limit }: PageRequest): number => (page - 1) * limit;

export const pageOf = <T>({ page, limit }: PageRequest, data: T[], total: number): Page<T> => ({
  data,
  total,
  page,
  limit,
});
