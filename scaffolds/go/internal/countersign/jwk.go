package countersign

import (
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"math/big"
)

// The algorithms that an instance may have.
const (
	rs256 = "RS256"
	es256 = "ES256"
	edDSA = "EdDSA"
)

// A verificationKey is used with its own algorithm only.
type verificationKey struct {
	algorithm string
	public    crypto.PublicKey
}

type jwk struct{ Kty, Crv, Kid, N, E, X, Y string }

// verificationKey is not ok for a key that is of another kind or malformed.
func (k jwk) verificationKey() (key verificationKey, ok bool) {
	switch {
	case k.Kty == "RSA":
		return k.rsaKey()
	case k.Kty == "EC" && k.Crv == "P-256":
		return k.p256Key()
	case k.Kty == "OKP" && k.Crv == "Ed25519":
		x, err := base64.RawURLEncoding.DecodeString(k.X)
		return verificationKey{edDSA, ed25519.PublicKey(x)}, err == nil && len(x) == ed25519.PublicKeySize
	default:
		return verificationKey{}, false
	}
}

func (k jwk) rsaKey() (verificationKey, bool) {
	n, errN := base64.RawURLEncoding.DecodeString(k.N)
	e, errE := base64.RawURLEncoding.DecodeString(k.E)
	if errN != nil || errE != nil || len(e) == 0 || len(e) > 4 {
		return verificationKey{}, false
	}
	public := &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
	return verificationKey{rs256, public}, true
}

func (k jwk) p256Key() (verificationKey, bool) {
	x, errX := base64.RawURLEncoding.DecodeString(k.X)
	y, errY := base64.RawURLEncoding.DecodeString(k.Y)
	if errX != nil || errY != nil || len(x) != 32 || len(y) != 32 {
		return verificationKey{}, false
	}
	// Refuses a point that is not on the curve.
	uncompressed := append(append([]byte{4}, x...), y...)
	if _, err := ecdh.P256().NewPublicKey(uncompressed); err != nil {
		return verificationKey{}, false
	}
	public := &ecdsa.PublicKey{
		Curve: elliptic.P256(),
		X:     new(big.Int).SetBytes(x),
		Y:     new(big.Int).SetBytes(y),
	}
	return verificationKey{es256, public}, true
}
