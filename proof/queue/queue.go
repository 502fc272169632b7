// Package queue lets outboxsqs deliver to a server that speaks the protocol of SQS: that of moto, which package moto runs. Its tests show
// what a consumer receives, what a FIFO queue drops, and which refusals are permanent, with the client of the SDK between.
package queue
