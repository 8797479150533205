package agent;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.source.JWKSource;
import com.nimbusds.jose.jwk.source.JWKSourceBuilder;
import com.nimbusds.jose.proc.BadJOSEException;
import com.nimbusds.jose.proc.DefaultJOSEObjectTypeVerifier;
import com.nimbusds.jose.proc.JWSVerificationKeySelector;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.proc.DefaultJWTClaimsVerifier;
import com.nimbusds.jwt.proc.DefaultJWTProcessor;
import java.net.MalformedURLException;
import java.net.URI;
import java.text.ParseException;
import java.util.Set;

/**
 * Checks access tokens that others present to this agent. Keys are fetched once, and again when an
 * unknown one appears, but not each time. Safe to share between threads.
 */
public final class AccessTokenVerifier {
  private final DefaultJWTProcessor<SecurityContext> processor = new DefaultJWTProcessor<>();

  /** Takes who issues the tokens, the API's address, and whom they must be meant for. */
  public AccessTokenVerifier(String issuer, String audience) throws MalformedURLException {
    this(
        issuer,
        audience,
        JWKSourceBuilder.create(URI.create(issuer + "/.well-known/jwks.json").toURL()).build());
  }

  AccessTokenVerifier(String issuer, String audience, JWKSource<SecurityContext> keys) {
    processor.setJWSTypeVerifier(
        new DefaultJOSEObjectTypeVerifier<>(
            new JOSEObjectType("at+jwt"), new JOSEObjectType("application/at+jwt")));
    processor.setJWSKeySelector(new JWSVerificationKeySelector<>(JWSAlgorithm.RS256, keys));
    processor.setJWTClaimsSetVerifier(
        new DefaultJWTClaimsVerifier<>(
            audience,
            new JWTClaimsSet.Builder().issuer(issuer).build(),
            Set.of("exp", "sub", "client_id")));
  }

  /** The claims of a genuine token. */
  public JWTClaimsSet verify(String token) throws ParseException, BadJOSEException, JOSEException {
    return processor.process(token, null);
  }
}
