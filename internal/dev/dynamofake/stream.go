package dynamofake

import "strconv"

// streamInput is the input of the calls that read a stream.
type streamInput struct {
	StreamArn, ShardIteratorType, ShardIterator string
	Limit                                       int
}

// change is a write of an item. What was not there, or is not there any more, is nil.
type change struct{ old, new Item }

// stream answers the calls about the stream of the table s.Streamed: it has one shard without an
// end, whose sequence numbers and iterators count the changes.
func (s *Server) stream(operation string, in input) object {
	switch operation {
	case "DescribeTable":
		if in.TableName != s.Streamed {
			invalidf("nothing is known of this table")
		}
		return object{"Table": object{"LatestStreamArn": in.TableName}}
	case "DescribeStream":
		return object{"StreamDescription": object{"Shards": []any{object{"ShardId": "shard"}}}}
	case "GetShardIterator":
		if in.ShardIteratorType == "LATEST" {
			return object{"ShardIterator": strconv.Itoa(len(s.changes))}
		}
		return object{"ShardIterator": "0"}
	}
	var from int
	decode([]byte(in.ShardIterator), &from)
	found := []any{}
	for ; from < len(s.changes) && len(found) < in.Limit; from++ {
		found = append(found, s.changes[from].event(strconv.Itoa(from+1)))
	}
	return object{"Records": found, "NextShardIterator": strconv.Itoa(from)}
}

// event is the record as Lambda gets it.
func (c change) event(number string) object {
	name, images := "MODIFY", object{"SequenceNumber": number}
	switch {
	case c.old == nil:
		name = "INSERT"
	case c.new == nil:
		name = "REMOVE"
	}
	if c.new != nil {
		images["NewImage"] = c.new
	}
	if c.old != nil {
		images["OldImage"] = c.old
	}
	return object{
		"eventID": number, "eventName": name, "eventSource": "aws:dynamodb", "eventVersion": "1.1",
		"dynamodb": images,
	}
}
