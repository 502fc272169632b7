// Package gateway turns the events of a gateway into requests, and responses into what the gateway
// reads.
//
// There are four families of events: those of an HTTP API, of a REST API, of a function URL and of
// an Application Load Balancer. A [Family] belongs to the types of one handler. It reads a
// [Request] from an event, says what of the request a key and a fingerprint stand for, brings a
// response into the form that is stored, and adds the headers of this module to an answer.
//
// # What the package must not know
//
// It knows no records, no stores, no options and no errors of the module, and no context of an
// invocation. What it needs from there comes as [Settings] or as a parameter.
//
// # How an event is read, and an answer written
//
// Decoding an event would take longer than the rest of a replay. So [Family.Scan] reads a request
// straight from the JSON of its event. Where the decoder has rules of its own, for a name in
// another case or one that is there twice, the event is decoded and encoded, and Scan reads that.
// An event by value is encoded, too: there is one reader of events.
//
// [Family.Announce] adds headers to a response. To the JSON of most responses [Family.Splice] adds
// them without decoding it.
//
// # Adding a family
//
//  1. Write a file such as alb.go, named after the gateway. It declares one value of type kind:
//     where an event has the parts of a request, what they say, and how a response is taken apart
//     and put together.
//  2. Add that value to the list in pairs, and the types to [Supported].
//  3. Add events to testdata/events at the root of the module, with a prefix of their own, and the
//     prefix to eventReaders in scan_test.go. The tests then check that an event reads as it does
//     when it was decoded, also after changes in every place.
//  4. Add the response to splicers in splice_test.go. The tests then check that spliced answers
//     decode into announced ones.
//  5. Add the digests of its events to identities in golden_test.go. Digests must never change once
//     they are stored.
package gateway
