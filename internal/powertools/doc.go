// Package powertools computes idempotency keys, validation digests and stored results as AWS
// Powertools for AWS Lambda computes them in another language, byte for byte, so that a function in
// Go and one that uses Powertools can share a table during a migration. It does no I/O and knows
// nothing of claims.
//
// Sources: Python 3.37.0, TypeScript 2.35.0, Java 2.9.0 and 1.15.0 are checked against records that
// those packages wrote (testdata/interop). The caller names the prefix of keys, because it contains
// names of the other program.
//
// # Unsafe rules that are reproduced
//
// The keys of Powertools promise less than those of this module:
//
//   - All: MD5 unless another hash is configured. Whoever can choose payloads can build two with
//     one key. Of equal member names the last one counts.
//   - Python, Java: numbers with a fraction or an exponent are rounded to doubles, so 0.1 and
//     0.10000000000000000001 share a key, while 1 and 1.0 do not.
//   - TypeScript: every number is rounded to a double: 9007199254740993 and 9007199254740992 share
//     a key. Members are ordered by their lower-cased names; names that differ only in case stay in
//     the order of the event, so {"a":1,"A":2} and {"A":2,"a":1} do not share one. Lower case is
//     that of Unicode 15; later versions have 55 more capital letters, of scripts that are hardly
//     in use.
//   - Java: members stay in the order of the event. A text hashes as its content: "1" and 1 share a
//     key, "true" and true as well. Zeros that lead a digest of more than 128 bits are dropped.
//
// # What is refused
//
// Constants of the type [RefusalError] list what cannot be reproduced or must not be, each with its
// reason; no refused selection yields another key.
//
// # Selecting
//
// [Codec.Allow] takes the expressions that select the same in every language. proof/interop draws
// expressions and events, and compares what is selected with the published packages. Some events
// are refused where the language goes on: numbers beyond a double; a member name twice, if there is
// an expression; more than 1,000 levels; a text that powertools_json or powertools_base64 cannot
// decode; a function whose argument is no text, for which Java has null.
//
// Java selects from the event after its runtime has turned it into an object of its own and back.
// What that changes (names, order, absent members) is not known here: select members, not whole
// events.
package powertools
