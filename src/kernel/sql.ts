/** SQL is written as SQL; values become parameters, never text. */
export { default as sql, join, raw, type Sql } from 'sql-template-tag';
