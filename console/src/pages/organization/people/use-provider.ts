import { useQuery } from '@tanstack/react-query';
import { fetchSignInOptions } from '../../../api/session.ts';

/** The OpenID provider of the instance; null without one, undefined while it loads. */
export function useProvider(): { readonly issuer: string; readonly name: string } | null | undefined {
  const { data } = useQuery({
    queryKey: ['signInOptions'],
    queryFn: ({ signal }) => fetchSignInOptions(signal),
    retry: false,
  });
  return data?.oidc;
}
