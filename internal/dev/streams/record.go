package streams

import "bytes"

// maxPayload is what an event may have, 6 MB, see
// https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventsourcemapping.html#invocation-eventsourcemapping-batching.
const maxPayload = 6 << 20

const eventBegin, eventEnd = `{"Records":[`, `]}`

// payloadOf is the event that hands records over, see https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html and
// https://docs.aws.amazon.com/lambda/latest/dg/with-kinesis.html.
func payloadOf(records []Record) []byte {
	var b bytes.Buffer
	b.WriteString(eventBegin)
	for i, r := range records {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(r.Text)
	}
	b.WriteString(eventEnd)
	return b.Bytes()
}

// cut returns how many of the records the next event has, and whether it has no room for more.
func cut(records []Record, batchSize int) (n int, full bool) {
	size := len(eventBegin) + len(eventEnd)
	for n < len(records) && n < batchSize {
		size += len(records[n].Text) + len(",")
		if size > maxPayload && n > 0 {
			return n, true
		}
		n++
	}
	return n, n == batchSize
}
