package agent;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.JWSVerifier;
import com.nimbusds.jose.crypto.factories.DefaultJWSVerifierFactory;
import com.nimbusds.jose.crypto.impl.BaseJWSProvider;
import com.nimbusds.jose.util.Base64URL;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.PublicKey;
import java.security.Signature;
import java.security.SignatureException;
import java.security.interfaces.EdECPublicKey;
import java.util.Set;

/** The verifiers of the library, and one for EdDSA with the JDK, which the library has not. */
final class SignatureVerifiers extends DefaultJWSVerifierFactory {
  @Override
  public JWSVerifier createJWSVerifier(JWSHeader header, Key key) throws JOSEException {
    return JWSAlgorithm.EdDSA.equals(header.getAlgorithm()) && key instanceof EdECPublicKey ed25519
        ? new Ed25519(ed25519)
        : super.createJWSVerifier(header, key);
  }

  private static final class Ed25519 extends BaseJWSProvider implements JWSVerifier {
    private final PublicKey key;

    Ed25519(PublicKey key) {
      super(Set.of(JWSAlgorithm.EdDSA));
      this.key = key;
    }

    @Override
    public boolean verify(JWSHeader header, byte[] signingInput, Base64URL signature)
        throws JOSEException {
      if (header.getCriticalParams() != null) {
        return false;
      }
      try {
        Signature verifier = Signature.getInstance("Ed25519");
        verifier.initVerify(key);
        verifier.update(signingInput);
        return verifier.verify(signature.decode());
      } catch (SignatureException malformed) {
        return false;
      } catch (GeneralSecurityException unavailable) {
        throw new JOSEException("Ed25519 cannot be checked", unavailable);
      }
    }
  }
}
