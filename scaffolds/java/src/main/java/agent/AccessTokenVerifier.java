package agent;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.jwk.source.JWKSource;
import com.nimbusds.jose.jwk.source.JWKSourceBuilder;
import com.nimbusds.jose.proc.BadJOSEException;
import com.nimbusds.jose.proc.DefaultJOSEObjectTypeVerifier;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.proc.BadJWTException;
import com.nimbusds.jwt.proc.DefaultJWTClaimsVerifier;
import com.nimbusds.jwt.proc.DefaultJWTProcessor;
import java.net.MalformedURLException;
import java.net.URI;
import java.text.ParseException;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * Checks access tokens that others present to this agent. Keys are fetched when the first token
 * arrives, when an unknown one appears, but not each time, and every five minutes. Safe to share
 * between threads.
 */
public final class AccessTokenVerifier {
  private static final int CLOCK_TOLERANCE_SECONDS = 5;

  private final DefaultJWTProcessor<SecurityContext> processor = new DefaultJWTProcessor<>();
  private final Optional<String> organizationId;
  private final Subjects subjects;

  /**
   * Takes the issuer of the tokens, which is the API's address, whom they must be meant for, the
   * organization whose tokens are accepted, and on whose behalf the agents may act.
   */
  public AccessTokenVerifier(
      String issuer, String audience, String organizationId, Subjects subjects)
      throws MalformedURLException {
    this(issuer, audience, only(organizationId), subjects, keysOf(issuer));
  }

  /**
   * Accepts tokens of every organization on the instance: compare {@link
   * VerifiedToken#organizationId} yourself.
   */
  public static AccessTokenVerifier acceptAnyOrganization(
      String issuer, String audience, Subjects subjects) throws MalformedURLException {
    return new AccessTokenVerifier(issuer, audience, Optional.empty(), subjects, keysOf(issuer));
  }

  AccessTokenVerifier(
      String issuer,
      String audience,
      Optional<String> organizationId,
      Subjects subjects,
      JWKSource<SecurityContext> keys) {
    this.organizationId = organizationId;
    this.subjects =
        Objects.requireNonNull(subjects, "subjects must be Subjects.AGENTS, PEOPLE or ANY");
    processor.setJWSTypeVerifier(
        new DefaultJOSEObjectTypeVerifier<>(
            new JOSEObjectType("at+jwt"), new JOSEObjectType("application/at+jwt")));
    processor.setJWSKeySelector(new SigningKeys(keys));
    processor.setJWSVerifierFactory(new SignatureVerifiers());
    DefaultJWTClaimsVerifier<SecurityContext> claims =
        new DefaultJWTClaimsVerifier<>(
            audience, new JWTClaimsSet.Builder().issuer(issuer).build(), Set.of("exp"));
    claims.setMaxClockSkew(CLOCK_TOLERANCE_SECONDS);
    processor.setJWTClaimsSetVerifier(claims);
  }

  static Optional<String> only(String organizationId) {
    if (!VerifiedToken.isId(organizationId)) {
      throw new IllegalArgumentException(
          "organizationId must be a UUID; or use acceptAnyOrganization");
    }
    return Optional.of(organizationId);
  }

  private static JWKSource<SecurityContext> keysOf(String issuer) throws MalformedURLException {
    return JWKSourceBuilder.create(URI.create(issuer + "/.well-known/jwks.json").toURL()).build();
  }

  /** What a genuine token says. */
  public VerifiedToken verify(String token) throws ParseException, BadJOSEException, JOSEException {
    VerifiedToken verified = VerifiedToken.read(processor.process(token, null));
    if (organizationId.isPresent() && !organizationId.get().equals(verified.organizationId())) {
      throw new BadJWTException(
          "the token is of organization "
              + verified.organizationId()
              + ", not "
              + organizationId.get());
    }
    if (subjects == Subjects.AGENTS && verified.subject().isPerson()) {
      throw new BadJWTException("the subject of the token is a person; only agents are accepted");
    }
    if (subjects == Subjects.PEOPLE && !verified.subject().isPerson()) {
      throw new BadJWTException("the subject of the token is an agent; only people are accepted");
    }
    return verified;
  }
}
