/** The tab order of a page, read in one evaluation: to press Tab on each element of each page takes minutes. */

/**
 * An expression for the page: the elements that the Tab key visits, in its order. `foundation.test.ts` compares it with real keys. Inside
 * an open dialog the focus stays in the dialog. A radio button that is not chosen is reached by the arrow keys of its group.
 */
export const tabOrder = `(() => {
  const dialogs = [...document.querySelectorAll('dialog:modal, [role=dialog][aria-modal=true]')].filter((one) => one.checkVisibility());
  const root = dialogs.at(-1) ?? document;
  const inOrder = (place) => [...place.querySelectorAll('*')].flatMap((one) => (one.shadowRoot ? [one, ...inOrder(one.shadowRoot)] : [one]));
  const isChosen = (radio, all) => {
    const group = all.filter((one) => one.type === 'radio' && one.name === radio.name && one.form === radio.form);
    return radio === (group.find((one) => one.checked) ?? group[0]);
  };
  const isUsable = (one) =>
    !one.matches(':disabled') && !one.closest('[inert]') && one.checkVisibility({ visibilityProperty: true });
  const takesFocus = (one) => one.matches('a[href], area[href], button, input, select, textarea, summary, iframe, [contenteditable], [tabindex]');
  const stops = inOrder(root).filter((one) => takesFocus(one) && one.tabIndex >= 0 && isUsable(one));
  // Chromium lets the keyboard scroll what has no element to focus.
  const scrolls = (one) => {
    const { overflowX, overflowY } = getComputedStyle(one);
    const can = (overflow, content, size) => ['auto', 'scroll'].includes(overflow) && content > size;
    return can(overflowX, one.scrollWidth, one.clientWidth) || can(overflowY, one.scrollHeight, one.clientHeight);
  };
  const inside = new Set();
  for (const one of stops) for (let up = one; up && !inside.has(up); up = up.parentElement) inside.add(up);
  const all = inOrder(root).filter(
    (one) =>
      stops.includes(one) ||
      (!inside.has(one) && one.tabIndex < 0 && !one.hasAttribute('tabindex') && one !== document.documentElement && one !== document.body &&
        scrolls(one) && isUsable(one)),
  ).filter((one, _, list) => one.type !== 'radio' || !one.name || isChosen(one, list));
  const first = all.filter((one) => one.tabIndex > 0).sort((a, b) => a.tabIndex - b.tabIndex);
  return [...first, ...all.filter((one) => one.tabIndex <= 0)];
})()`;
