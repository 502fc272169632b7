// Package batches lets queues and streams hand records over to the functions of package batch, as Lambda does, by the thousands: in
// duplicates, with handlers that fail, panic, take too long and die. Its tests look at what is left at the end: each effect once, nothing lost,
// the order of each group, and how often each message was received.
//
// The large runs have queues in memory and fake time; smaller ones have the server of moto and DynamoDB Local between.
package batches
