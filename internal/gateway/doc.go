// Package gateway turns the events of a gateway into requests, and responses into what the gateway reads.
//
// There are four families of events: those of an HTTP API, of a REST API, of a function URL and of an Application Load
// Balancer. A [Family] belongs to the types of one handler. It reads a [Request] from an event, says what of the request a key
// and a fingerprint stand for, brings a response into the form that is stored, and adds the headers of this module to an
// answer.
//
// # What the package must not know
//
// It knows no records, no stores, no options and no errors of the module, and no context of an invocation. What it needs from
// there comes as [Settings] or as a parameter.
//
// # The two short cuts
//
// Decoding an event and encoding a response would take longer than the rest of a replay. So [Family.Scan] reads a request
// straight from the JSON of its event, and [Family.Splice] adds headers straight to the JSON of a response. Each has a long
// way beside it, [Family.Read] and [Family.Announce], and must come to the same result byte for byte. A short cut that meets
// anything unusual gives up and leaves the work to the long way.
//
// # Adding a family
//
//  1. Write a file such as alb.go, named after the gateway. It declares one value of type kind: where an event has the parts
//     of a request, how to read them from a decoded event, and how a response is taken apart, put together and laid out as
//     JSON.
//  2. Add that value to the list in [FamilyOf], and the types to pairs and to [Supported].
//  3. Add events to testdata/events, with a prefix of their own, and the prefix to eventReaders in
//     scan_test.go. The tests then check that scanned and decoded events agree, also after changes in every place.
//  4. Add the response to splicers in splice_test.go, and JSON texts of the other families to the table of texts that it has
//     to refuse. The tests then check that spliced and decoded answers agree.
//  5. Add the digests of its events to pinned in digest_test.go. Digests must never change once they are stored.
package gateway
