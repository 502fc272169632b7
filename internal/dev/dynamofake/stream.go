package dynamofake

import "strconv"

// streamInput is the input of the calls that read a stream.
type streamInput struct {
	StreamArn, ShardIteratorType, ShardIterator string
	Limit                                       int
}

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
		found = append(found, s.changes[from])
	}
	return object{"Records": found, "NextShardIterator": strconv.Itoa(from)}
}

// change is the record of a write as Lambda gets it. What was not there, or is not there any more,
// is nil.
func change(number int, old, next Item) object {
	name, images := "MODIFY", object{"SequenceNumber": strconv.Itoa(number)}
	if next != nil {
		images["NewImage"] = next
	} else {
		name = "REMOVE"
	}
	if old != nil {
		images["OldImage"] = old
	} else {
		name = "INSERT"
	}
	return object{
		"eventID": strconv.Itoa(number), "eventName": name, "eventSource": "aws:dynamodb", "eventVersion": "1.1",
		"dynamodb": images,
	}
}
