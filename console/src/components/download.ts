/** Saves a file that the page has in memory. */
export function downloadBlob(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export const downloadText = (name: string, text: string, type = 'text/plain'): void =>
  downloadBlob(name, new Blob([text], { type }));
