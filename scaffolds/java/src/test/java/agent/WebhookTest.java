package agent;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class WebhookTest {
  private static final String SECRET = "whsec_test";
  private static final String TIMESTAMP = "1700000000";
  private static final String BODY = "{\"type\":\"agent.created\"}";
  private static final String SIGNATURE =
      "sha256=17203041e9406bee38c6096bf0228f37fe82578204ab2c3cc965d2babad6ee5e";

  private static void verify(
      String secret, String timestamp, String signature, String body, int age)
      throws GeneralSecurityException {
    Instant now = Instant.ofEpochSecond(1_700_000_000L + age);
    Webhook.verify(secret, timestamp, signature, body.getBytes(StandardCharsets.UTF_8), now);
  }

  private static void assertRefused(
      String secret, String timestamp, String signature, String body, int age) {
    assertThrows(
        GeneralSecurityException.class, () -> verify(secret, timestamp, signature, body, age));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 300, -300})
  void genuineDeliveryPasses(int age) {
    assertDoesNotThrow(() -> verify(SECRET, TIMESTAMP, SIGNATURE, BODY, age));
  }

  @ParameterizedTest
  @ValueSource(ints = {301, -301})
  void oldDeliveryIsRefused(int age) {
    assertRefused(SECRET, TIMESTAMP, SIGNATURE, BODY, age);
  }

  @ParameterizedTest
  @CsvSource({"1700000001", "17e8", "''", "-1700000000"})
  void anotherTimeIsRefused(String timestamp) {
    assertRefused(SECRET, timestamp, SIGNATURE, BODY, 0);
  }

  @Test
  void anotherSecretBodyOrSignatureIsRefused() {
    assertRefused("other", TIMESTAMP, SIGNATURE, BODY, 0);
    assertRefused(SECRET, TIMESTAMP, SIGNATURE, "{}", 0);
    assertRefused(SECRET, TIMESTAMP, SIGNATURE.substring(0, 20), BODY, 0);
    assertRefused(SECRET, TIMESTAMP, "", BODY, 0);
  }
}
