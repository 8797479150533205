package agent;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.KeySourceException;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKMatcher;
import com.nimbusds.jose.jwk.JWKSelector;
import com.nimbusds.jose.jwk.OctetKeyPair;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.jwk.source.JWKSource;
import com.nimbusds.jose.proc.JWSKeySelector;
import com.nimbusds.jose.proc.SecurityContext;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyFactory;
import java.security.spec.X509EncodedKeySpec;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** Finds the published key of a token. A key is used with its own algorithm only. */
final class SigningKeys implements JWSKeySelector<SecurityContext> {
  /** What comes before the 32 bytes of an Ed25519 key in its X.509 form (RFC 8410). */
  private static final byte[] ED25519_PREFIX =
      HexFormat.of().parseHex("302a300506032b6570032100");

  private final JWKSource<SecurityContext> keys;

  SigningKeys(JWKSource<SecurityContext> keys) {
    this.keys = keys;
  }

  @Override
  public List<Key> selectJWSKeys(JWSHeader header, SecurityContext context)
      throws KeySourceException {
    List<Key> found = new ArrayList<>();
    if (header.getKeyID() == null) {
      return found;
    }
    JWKMatcher named = new JWKMatcher.Builder().keyID(header.getKeyID()).build();
    for (JWK key : keys.get(new JWKSelector(named), context)) {
      try {
        if (header.getAlgorithm().equals(algorithmOf(key))) {
          found.add(publicKey(key));
        }
      } catch (JOSEException | GeneralSecurityException malformed) {
        throw new KeySourceException("the key of the token cannot be read", malformed);
      }
    }
    return found;
  }

  /** Null for a key of another kind. */
  private static JWSAlgorithm algorithmOf(JWK key) {
    if (key instanceof RSAKey) {
      return JWSAlgorithm.RS256;
    }
    if (key instanceof ECKey ec && Curve.P_256.equals(ec.getCurve())) {
      return JWSAlgorithm.ES256;
    }
    if (key instanceof OctetKeyPair pair && Curve.Ed25519.equals(pair.getCurve())) {
      return JWSAlgorithm.EdDSA;
    }
    return null;
  }

  private static Key publicKey(JWK key) throws JOSEException, GeneralSecurityException {
    if (key instanceof RSAKey rsa) {
      return rsa.toRSAPublicKey();
    }
    if (key instanceof ECKey ec) {
      return ec.toECPublicKey();
    }
    byte[] x = key.toOctetKeyPair().getDecodedX();
    byte[] encoded = new byte[ED25519_PREFIX.length + x.length];
    System.arraycopy(ED25519_PREFIX, 0, encoded, 0, ED25519_PREFIX.length);
    System.arraycopy(x, 0, encoded, ED25519_PREFIX.length, x.length);
    return KeyFactory.getInstance("Ed25519").generatePublic(new X509EncodedKeySpec(encoded));
  }
}
