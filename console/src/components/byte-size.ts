const units = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const;

/** "812 bytes", "3.4 MB": in powers of a thousand, as files are listed. */
export function byteSize(bytes: number): string {
  let [size, unit] = [bytes, 0];
  for (; size >= 999.5 && unit < units.length - 1; unit += 1) size /= 1_000;
  const digits = unit > 0 && size < 9.95 ? 1 : 0;
  return `${size.toLocaleString('en', { maximumFractionDigits: digits })} ${units[unit]}`;
}
