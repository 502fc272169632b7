package powertools

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"hash"
	"strings"
)

// hashNames are the hash functions of a language by its own names. The first one is the default.
type hashNames struct {
	names    []string
	anyCase  bool // the language does not distinguish capital letters
	function []func() hash.Hash
}

func hashes(anyCase bool, names ...string) hashNames {
	return hashNames{
		names, anyCase,
		[]func() hash.Hash{md5.New, sha1.New, sha256.New224, sha256.New, sha512.New384, sha512.New},
	}
}

var (
	// Python looks the name up in hashlib, TypeScript in OpenSSL through crypto.createHash, Java in
	// MessageDigest.
	pythonHashes = hashes(false, "md5", "sha1", "sha224", "sha256", "sha384", "sha512")
	nodeHashes   = hashes(true, "md5", "sha1", "sha224", "sha256", "sha384", "sha512")
	javaHashes   = hashes(true, "MD5", "SHA-1", "SHA-224", "SHA-256", "SHA-384", "SHA-512")
)

func (h hashNames) find(name string) (func() hash.Hash, bool) {
	if name == "" {
		return h.function[0], true
	}
	for i, n := range h.names {
		if n == name || h.anyCase && strings.EqualFold(n, name) {
			return h.function[i], true
		}
	}
	return nil, false
}

// String lists the names for an error message.
func (h hashNames) String() string { return strings.Join(h.names, ", ") }
