package dynamo

import (
	"os"
	"strings"
	"unicode/utf8"
)

const (
	// maxName is the length in bytes of the longest name of a key attribute, to which this store keeps all names.
	maxName = 255
	// maxPartition is the length in bytes of the longest value of a partition key.
	maxPartition = 2048
)

// Attributes are the names of those attributes of a record that AWS Powertools has and can rename, too. An empty name is the default of
// both. Two attributes of one name are a configuration error, and so is a name
// of more than 255 bytes.
//
// Renaming one on a table with records loses what it held: they are then unreadable, or without owner, lease or result.
type Attributes struct {
	_ struct{} // literals name their fields: more may come

	// Key is the partition key, by default "id"; Powertools: key_attr.
	Key string
	// Status is "status"; Powertools: status_attr.
	Status string
	// Expiration is "expiration", the attribute of the table's time to live; Powertools: expiry_attr.
	Expiration string
	// Lease is "in_progress_expiration"; Powertools: in_progress_expiry_attr.
	Lease string
	// Data is "data", the result; Powertools: data_attr.
	Data string
	// Validation is "validation", the fingerprint; Powertools: validation_key_attr.
	Validation string
}

// WithAttributes renames attributes, so that the store fits a table that AWS Powertools or something else uses. The names
// of [TableDefinition], [CreateTable] and [Store.Check] follow.
func WithAttributes(names Attributes) Option {
	return func(c *config) {
		for _, r := range []struct {
			at   *attribute
			name string
		}{
			{&c.attr.id, names.Key},
			{&c.attr.status, names.Status},
			{&c.attr.expiration, names.Expiration},
			{&c.attr.lease, names.Lease},
			{&c.attr.data, names.Data},
			{&c.attr.validation, names.Validation},
		} {
			if r.name != "" {
				r.at.name = r.name
			}
		}
	}
}

// WithCompositeKey fits the store to a table with a sort key, as AWS Powertools does with sort_key_attr: every record has
// the same value of the partition key, and the record key is the sort key, whose name is given. An empty partition means the
// default of Powertools (static_pk_value), "idempotency#" and the environment variable AWS_LAMBDA_FUNCTION_NAME.
//
// All records are then in one partition, which takes 1,000 write units a second: about 500 first executions.
func WithCompositeKey(sortKey, partition string) Option {
	return func(c *config) {
		c.attr.sort.name, c.attr.partition = sortKey, partition
		if partition == "" {
			c.attr.partition = "idempotency#" + os.Getenv("AWS_LAMBDA_FUNCTION_NAME")
		}
		if sortKey == "" {
			c.problemf("WithCompositeKey: the name of the sort key is empty")
		}
		if len(c.attr.partition) > maxPartition || !utf8.ValidString(c.attr.partition) {
			c.problemf("WithCompositeKey: a partition of %d bytes is not UTF-8 of at most %d", len(c.attr.partition), maxPartition)
		}
	}
}

// checkAttributes finds names that DynamoDB does not take, and those that two attributes have.
func (c *config) checkAttributes() {
	taken := make(map[string]string)
	for _, at := range c.attr.all() {
		if len(at.name) > maxName || !utf8.ValidString(at.name) {
			c.problemf("the name %q of the attribute %s is not UTF-8 of at most %d bytes", at.name, at.role(), maxName)
		}
		if other, is := taken[at.name]; is {
			c.problemf("the attributes %s and %s have one name, %q", other, at.role(), at.name)
		}
		taken[at.name] = at.role()
		if strings.HasPrefix(at.name, stepPrefix) {
			c.problemf("the name %q of the attribute %s begins with %q, as those of steps do", at.name, at.role(), stepPrefix)
		}
	}
}

// all returns every attribute that a record can have.
func (a attributes) all() []attribute {
	all := []attribute{
		a.id, a.status, a.expiration, a.lease, a.data, a.validation,
		a.owner, a.commit, a.attempt, a.createdAt, a.reason, a.parts, a.encoding, a.layout,
		a.completedAt, a.settledBy, a.settledAt, a.settledReason, a.attention, a.attentionAt, a.derived, a.tries, a.unmarked, a.trace,
		a.story, a.questions,
		a.steps, a.stepNames,
	}
	if a.composite() {
		all = append(all, a.sort)
	}
	return all
}
