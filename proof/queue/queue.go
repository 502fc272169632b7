// Package queue lets outboxsqs deliver to a server that speaks the protocol of SQS: that of moto, which is written in Python. Its tests show
// what a consumer receives, what a FIFO queue drops, and which refusals are permanent, with the client of the SDK between.
//
// The packages are pinned in requirements.txt and installed into .tools at the root.
package queue
