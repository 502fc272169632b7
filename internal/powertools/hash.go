package powertools

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"hash"
	"strings"
)

// hashNames are the hash functions of a language by its own names, in the order of functions. The
// first one is the default.
type hashNames struct {
	names   []string
	anyCase bool // the language does not distinguish capital letters
}

var (
	functions = [...]func() hash.Hash{md5.New, sha1.New, sha256.New224, sha256.New, sha512.New384, sha512.New}

	// Python looks the name up in hashlib, TypeScript in OpenSSL through crypto.createHash, Java in
	// MessageDigest.
	openSSLNames = []string{"md5", "sha1", "sha224", "sha256", "sha384", "sha512"}
	pythonHashes = hashNames{names: openSSLNames}
	nodeHashes   = hashNames{names: openSSLNames, anyCase: true}
	javaHashes   = hashNames{[]string{"MD5", "SHA-1", "SHA-224", "SHA-256", "SHA-384", "SHA-512"}, true}
)

func (h hashNames) find(name string) (func() hash.Hash, bool) {
	for i, n := range h.names {
		if name == "" || n == name || h.anyCase && strings.EqualFold(n, name) {
			return functions[i], true
		}
	}
	return nil, false
}

// String lists the names for an error message.
func (h hashNames) String() string { return strings.Join(h.names, ", ") }
