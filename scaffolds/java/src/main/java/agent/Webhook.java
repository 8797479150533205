package agent;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Checks that a webhook delivery is genuine. */
public final class Webhook {
  /** Older deliveries are refused, so that a recorded one cannot be played again later. */
  private static final Duration TOLERANCE = Duration.ofMinutes(5);

  private Webhook() {}

  /**
   * Fails unless the delivery was signed with this secret, within the last five minutes.
   *
   * @param timestamp the header X-Service-Timestamp
   * @param signature the header X-Service-Signature-256
   * @param body what came, byte for byte, before any parsing
   */
  public static void verify(
      String secret, String timestamp, String signature, byte[] body, Instant now)
      throws GeneralSecurityException {
    if (!timestamp.matches("[0-9]{1,12}")) {
      throw new GeneralSecurityException("the timestamp is not a number");
    }
    Instant sent = Instant.ofEpochSecond(Long.parseLong(timestamp));
    if (Duration.between(sent, now).abs().compareTo(TOLERANCE) > 0) {
      throw new GeneralSecurityException(
          "the delivery is more than five minutes old, or the clocks differ");
    }
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
    mac.update((timestamp + ".").getBytes(StandardCharsets.UTF_8));
    String expected = "sha256=" + HexFormat.of().formatHex(mac.doFinal(body));
    if (!MessageDigest.isEqual(
        expected.getBytes(StandardCharsets.UTF_8), signature.getBytes(StandardCharsets.UTF_8))) {
      throw new GeneralSecurityException("the signature does not match");
    }
  }
}
