package agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.JWSSigner;
import com.nimbusds.jose.crypto.MACSigner;
import com.nimbusds.jose.crypto.RSASSASigner;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator;
import com.nimbusds.jose.jwk.source.ImmutableJWKSet;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.PlainJWT;
import com.nimbusds.jwt.SignedJWT;
import java.time.Instant;
import java.util.Date;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class AccessTokenVerifierTest {
  private static final String ISSUER = "https://id.example.com";
  private static final String AUDIENCE = "https://agent.example.com";
  private static RSAKey key;
  private static AccessTokenVerifier verifier;

  @BeforeAll
  static void makeKey() throws Exception {
    key = new RSAKeyGenerator(2048).keyID("k").generate();
    verifier =
        new AccessTokenVerifier(
            ISSUER, AUDIENCE, new ImmutableJWKSet<>(new JWKSet(key.toPublicJWK())));
  }

  private static JWTClaimsSet.Builder claims() {
    return new JWTClaimsSet.Builder()
        .issuer(ISSUER)
        .audience(AUDIENCE)
        .subject("a")
        .claim("client_id", "a")
        .expirationTime(Date.from(Instant.now().plusSeconds(3600)));
  }

  private static JWSHeader.Builder header(JWSAlgorithm algorithm) {
    return new JWSHeader.Builder(algorithm).type(new JOSEObjectType("at+jwt")).keyID("k");
  }

  private static String sign(JWSHeader.Builder header, JWTClaimsSet.Builder claims, JWSSigner with)
      throws Exception {
    SignedJWT token = new SignedJWT(header.build(), claims.build());
    token.sign(with);
    return token.serialize();
  }

  private static String with(UnaryOperator<JWTClaimsSet.Builder> change) throws Exception {
    return sign(header(JWSAlgorithm.RS256), change.apply(claims()), new RSASSASigner(key));
  }

  private static void assertRefused(String token) {
    assertThrows(Exception.class, () -> verifier.verify(token));
  }

  @Test
  void genuineTokenTellsWhoseItIs() throws Exception {
    assertEquals("a", verifier.verify(with(claims -> claims)).getStringClaim("client_id"));
  }

  @Test
  void otherClaimsAreRefused() throws Exception {
    assertRefused(with(claims -> claims.issuer("https://elsewhere.example.com")));
    assertRefused(with(claims -> claims.audience(ISSUER)));
    assertRefused(with(claims -> claims.expirationTime(null)));
    assertRefused(with(claims -> claims.claim("client_id", null)));
    Date past = Date.from(Instant.now().minusSeconds(120));
    assertRefused(with(claims -> claims.expirationTime(past)));
  }

  @Test
  void otherSignaturesAreRefused() throws Exception {
    RSASSASigner signer = new RSASSASigner(key);
    RSAKey another = new RSAKeyGenerator(2048).keyID("k").generate();
    assertRefused(sign(header(JWSAlgorithm.RS256), claims(), new RSASSASigner(another)));
    assertRefused(sign(header(JWSAlgorithm.RS256).keyID("made-up"), claims(), signer));
    assertRefused(sign(header(JWSAlgorithm.RS256).type(JOSEObjectType.JWT), claims(), signer));
    assertRefused(sign(header(JWSAlgorithm.RS512), claims(), signer));
    assertRefused(sign(header(JWSAlgorithm.HS256), claims(), new MACSigner("k".repeat(32))));
    assertRefused(new PlainJWT(claims().build()).serialize());
    assertRefused("x.y.z");
  }
}
