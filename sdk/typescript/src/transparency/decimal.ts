/** Tree sizes and indexes: decimal digits without leading zeros, exact as a number (up to 2^53 - 1). */

const digits = /^(?:0|[1-9][0-9]{0,15})$/;

export function parseDecimal(text: string): number | undefined {
  const number = digits.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(number) ? number : undefined;
}

export const isSize = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
