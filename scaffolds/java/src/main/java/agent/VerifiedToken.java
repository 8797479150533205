package agent;

import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.proc.BadJWTException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * A genuine access token. It is delegated when it has a {@code chainId}.
 *
 * @param agentId the agent that acts, which the token was issued to: client_id
 * @param subject the person or the agent on whose behalf it acts: the agent itself unless the token
 *     is delegated
 * @param actors the agents that act (act): the one that acts now first, the subject's own delegatee
 *     last; the agent alone unless the token is delegated. Actors that another issuer named have an
 *     iss, and are only in the claims
 * @param chainId the delegation: chain_id; null unless the token is delegated
 * @param scopes what the token allows
 * @param authorizationDetails what exactly a person approved; empty when the scopes alone say it
 * @param organizationId the organization of these agents
 * @param claims all claims
 */
public record VerifiedToken(
    String agentId,
    Subject subject,
    List<String> actors,
    String chainId,
    List<String> scopes,
    List<Map<?, ?>> authorizationDetails,
    String organizationId,
    JWTClaimsSet claims) {
  private static final int MAX_ACTORS = 10;
  private static final Pattern UUID = Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");

  /**
   * On whose behalf an agent acts: sub and sub_profile.
   *
   * @param isPerson whether it is a person; an agent otherwise
   * @param id of the person or the agent
   */
  public record Subject(boolean isPerson, String id) {}

  static VerifiedToken read(JWTClaimsSet claims) throws BadJWTException {
    Map<String, Object> values = claims.getClaims();
    String agentId = readId(values, "client_id");
    Subject subject = readSubject(values);
    boolean isDelegated = values.containsKey("act");
    List<String> actors =
        isDelegated
            ? readActors(values, agentId, subject)
            : List.of(readOnlyActor(values, agentId, subject));
    return new VerifiedToken(
        agentId,
        subject,
        actors,
        isDelegated ? readId(values, "chain_id") : null,
        readScopes(values),
        readDetails(values),
        readId(values, "organization_id"),
        claims);
  }

  /**
   * The first of the authorization details that has this type. Compare its values with the call.
   */
  public Map<?, ?> requireDetail(String type) throws BadJWTException {
    return authorizationDetails.stream()
        .filter(detail -> type.equals(detail.get("type")))
        .findFirst()
        .orElseThrow(
            () ->
                new BadJWTException("the token has no authorization_details of the type " + type));
  }

  static boolean isId(Object value) {
    return value instanceof String text && UUID.matcher(text).matches();
  }

  /** Only tokens of people have sub_profile. */
  private static Subject readSubject(Map<String, Object> claims) throws BadJWTException {
    boolean isPerson = claims.containsKey("sub_profile");
    if (isPerson && !"person".equals(claims.get("sub_profile"))) {
      throw new BadJWTException("sub_profile must be person");
    }
    return new Subject(isPerson, readId(claims, "sub"));
  }

  private static String readOnlyActor(Map<String, Object> claims, String agentId, Subject subject)
      throws BadJWTException {
    if (subject.isPerson()) {
      throw new BadJWTException("sub is a person, but act is missing");
    }
    if (claims.containsKey("chain_id")) {
      throw new BadJWTException("chain_id without act");
    }
    if (!subject.id().equals(agentId)) {
      throw new BadJWTException("sub and client_id differ, but act is missing");
    }
    return agentId;
  }

  private static List<String> readActors(
      Map<String, Object> claims, String agentId, Subject subject) throws BadJWTException {
    List<String> actors = new ArrayList<>();
    Map<?, ?> holder = claims;
    while (holder.containsKey("act")) {
      if (!actors.isEmpty() && isAsserted(holder.get("act"))) {
        checkAsserted(holder);
        break;
      }
      if (!(holder.get("act") instanceof Map<?, ?> act)
          || isAsserted(act)
          || !isId(act.get("sub"))
          || act.containsKey("sub_profile") && !"ai_agent".equals(act.get("sub_profile"))) {
        throw new BadJWTException("act must name an agent in sub");
      }
      if (actors.size() == MAX_ACTORS) {
        throw new BadJWTException("act names more than " + MAX_ACTORS + " agents");
      }
      actors.add((String) act.get("sub"));
      holder = act;
    }
    if (!actors.get(0).equals(agentId)) {
      throw new BadJWTException("act names another agent than client_id");
    }
    if (subject.isPerson() && actors.contains(subject.id())) {
      throw new BadJWTException("sub is a person, but act names it as an agent");
    }
    return List.copyOf(actors);
  }

  /** Of another issuer, which an identity assertion named. Earlier actors are so, too. */
  private static boolean isAsserted(Object act) {
    return act instanceof Map<?, ?> actor && actor.containsKey("iss");
  }

  private static void checkAsserted(Map<?, ?> lastAgent) throws BadJWTException {
    Map<?, ?> holder = lastAgent;
    for (int count = 0; holder.containsKey("act"); count++) {
      if (!(holder.get("act") instanceof Map<?, ?> act)
          || !isText(act.get("iss"))
          || !isText(act.get("sub"))) {
        throw new BadJWTException("act of another issuer must name an actor in iss and sub");
      }
      if (count == MAX_ACTORS) {
        throw new BadJWTException("act names more than " + MAX_ACTORS + " actors of other issuers");
      }
      holder = act;
    }
  }

  private static boolean isText(Object value) {
    return value instanceof String text && !text.isEmpty();
  }

  private static List<String> readScopes(Map<String, Object> claims) throws BadJWTException {
    if (!(claims.getOrDefault("scope", "") instanceof String scope)) {
      throw new BadJWTException("scope must be a string");
    }
    return scope.isBlank() ? List.of() : List.of(scope.strip().split(" +"));
  }

  private static List<Map<?, ?>> readDetails(Map<String, Object> claims) throws BadJWTException {
    List<Map<?, ?>> details = new ArrayList<>();
    if (claims.getOrDefault("authorization_details", List.of()) instanceof List<?> list) {
      for (Object each : list) {
        if (each instanceof Map<?, ?> detail && detail.get("type") instanceof String) {
          details.add(detail);
        }
      }
      if (details.size() == list.size()) {
        return List.copyOf(details);
      }
    }
    throw new BadJWTException("authorization_details must be a list of objects with a type");
  }

  private static String readId(Map<String, Object> claims, String claim) throws BadJWTException {
    if (claims.get(claim) instanceof String value && isId(value)) {
      return value;
    }
    throw new BadJWTException(claim + " must be a UUID");
  }
}
