// Package httpfield says what header fields mean: which names have a meaning already, how a key is
// read from its header, how times and durations are written, and which media types are JSON.
//
// The package knows texts only. It must not know gateways, events, records or options. Whoever
// looks for a rule about a header finds it here once, whichever part of the module applies it.
package httpfield
