package agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.RSASSASigner;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator;
import com.nimbusds.jose.jwk.source.ImmutableJWKSet;
import com.nimbusds.jose.util.JSONObjectUtils;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

class AccessTokenVerifierTest {
  private static Map<String, Object> file;

  @BeforeAll
  static void readCases() throws Exception {
    file = JSONObjectUtils.parse(Files.readString(Path.of("testdata/access-token-cases.json")));
  }

  private static String text(String name) {
    return (String) file.get(name);
  }

  private static Stream<Map<String, Object>> cases(String name) throws Exception {
    return Stream.of(JSONObjectUtils.getJSONObjectArray(file, name));
  }

  private static AccessTokenVerifier verifier(
      boolean acceptAnyOrganization, Subjects subjects, JWKSet keys) {
    Optional<String> organizationId =
        acceptAnyOrganization ? Optional.empty() : AccessTokenVerifier.only(text("organizationId"));
    return new AccessTokenVerifier(
        text("issuer"), text("audience"), organizationId, subjects, new ImmutableJWKSet<>(keys));
  }

  private static AccessTokenVerifier verifierFor(Map<String, Object> each) throws Exception {
    return verifier(
        (Boolean) each.get("acceptAnyOrganization"),
        Subjects.valueOf(((String) each.get("subjects")).toUpperCase(Locale.ROOT)),
        JWKSet.parse(JSONObjectUtils.getJSONObject(file, "jwks")));
  }

  @TestFactory
  Stream<DynamicTest> accepted() throws Exception {
    return cases("accepted")
        .map(
            each ->
                dynamicTest(
                    (String) each.get("name"),
                    () -> {
                      Map<String, Object> expected =
                          JSONObjectUtils.getJSONObject(each, "verified");
                      VerifiedToken verified = verifierFor(each).verify((String) each.get("token"));
                      assertEquals(expected.get("agentId"), verified.agentId());
                      assertEquals(
                          expected.get("subject"),
                          Map.of(
                              "type",
                              verified.subject().isPerson() ? "person" : "agent",
                              "id",
                              verified.subject().id()));
                      assertEquals(expected.get("actors"), verified.actors());
                      assertEquals(expected.get("chainId"), verified.chainId());
                      assertEquals(expected.get("scopes"), verified.scopes());
                      assertEquals(
                          expected.get("authorizationDetails"), verified.authorizationDetails());
                      for (Map<?, ?> detail : verified.authorizationDetails()) {
                        String type = (String) detail.get("type");
                        assertEquals(type, verified.requireDetail(type).get("type"));
                      }
                      assertThrows(Exception.class, () -> verified.requireDetail("other"));
                      assertEquals(expected.get("organizationId"), verified.organizationId());
                      assertEquals(text("issuer"), verified.claims().getIssuer());
                    }));
  }

  @TestFactory
  Stream<DynamicTest> refused() throws Exception {
    return cases("refused")
        .map(
            each ->
                dynamicTest(
                    (String) each.get("name"),
                    () -> {
                      AccessTokenVerifier verifier = verifierFor(each);
                      Exception refusal =
                          assertThrows(
                              Exception.class, () -> verifier.verify((String) each.get("token")));
                      assertTrue(
                          refusal.getMessage().contains((String) each.get("reason")),
                          refusal::getMessage);
                    }));
  }

  @Test
  void verifierNeedsAnOrganizationOrTheOption() throws Exception {
    for (String organizationId : new String[] {null, "", "acme"}) {
      assertThrows(
          IllegalArgumentException.class,
          () ->
              new AccessTokenVerifier(
                  text("issuer"), text("audience"), organizationId, Subjects.ANY));
    }
    AccessTokenVerifier.acceptAnyOrganization(text("issuer"), text("audience"), Subjects.ANY);
  }

  @Test
  void verifierNeedsSubjects() {
    assertThrows(
        NullPointerException.class,
        () -> AccessTokenVerifier.acceptAnyOrganization(text("issuer"), text("audience"), null));
  }

  @Test
  void clocksMayDifferByFiveSeconds() throws Exception {
    RSAKey key = new RSAKeyGenerator(2048).keyID("k").generate();
    AccessTokenVerifier verifier =
        verifier(false, Subjects.AGENTS, new JWKSet(List.of(key.toPublicJWK())));
    verifier.verify(sign(key, -1));
    assertThrows(Exception.class, () -> verifier.verify(sign(key, -10)));
  }

  private static String sign(RSAKey key, int secondsLeft) throws Exception {
    String id = text("organizationId");
    SignedJWT token =
        new SignedJWT(
            new JWSHeader.Builder(JWSAlgorithm.RS256)
                .type(new JOSEObjectType("at+jwt"))
                .keyID("k")
                .build(),
            new JWTClaimsSet.Builder()
                .issuer(text("issuer"))
                .audience(text("audience"))
                .subject(id)
                .claim("client_id", id)
                .claim("organization_id", id)
                .expirationTime(Date.from(Instant.now().plusSeconds(secondsLeft)))
                .build());
    token.sign(new RSASSASigner(key));
    return token.serialize();
  }
}
