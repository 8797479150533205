// The choices of a model in the recipes, by the results of the tools so far. After a refusal it tries once more: the API decides, not the model.

export function nextStep(results) {
  const last = results.at(-1);
  if (last === undefined) return { tool: 'list_orders', input: {} };
  const [first] = JSON.parse(results[0].slice('200 '.length));
  const refund = { order: first.order, amount: first.total };
  if (results.length === 1 || /^(not )?approved: /.test(last)) return { tool: 'refund_order', input: refund };
  if (last.startsWith('200 ')) return { text: `Refunded ${first.total} for order ${first.order}.` };
  if (results.some((result) => result.startsWith('not approved'))) return { text: 'There was no refund.' };
  const reason = `The parcel of order ${first.order} was lost`;
  return { tool: 'ask_person', input: { ...refund, reason } };
}
