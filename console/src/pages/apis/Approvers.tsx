import { PartyName } from '../../components/PartyName.tsx';

/** The people who may lend every scope of an API. */
export function Approvers({ approvers }: { readonly approvers: readonly string[] }) {
  if (approvers.length === 0) return <>none beside the admins of the organization</>;
  return (
    <ul>
      {approvers.map((personId) => (
        <li key={personId}>
          <PartyName type="person" id={personId} />
        </li>
      ))}
    </ul>
  );
}
