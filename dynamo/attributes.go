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

// Attributes are the names that the attributes of a record have in the table. An empty name is the default, which for those
// of AWS Powertools is the one that it has there. Two attributes of one name are a configuration error, and so is a name
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

	// The others are this module's own, each by default its field's name in lower case, with an underscore between words:
	// CreatedAt is "created_at".
	Owner, Commit, Attempt, CreatedAt, Reason, Parts, Encoding, Layout string
	CompletedAt, SettledBy, SettledAt, SettledReason                   string
	// Attention and AttentionAt are the key of the index of records with attention, see [AttentionIndex].
	Attention, AttentionAt, Derived string
	// Unmarked is 1 where a step that the record does not have may have begun: any except StepNames. Without it, only StepNames may.
	Unmarked, StepNames string
	// Trace is the trace context of the execution that has or had the record last.
	Trace string
	// Tries counts how often a reconciliation has asked about the record in vain.
	Tries string
	// Steps counts the writes of steps. StepPrefix is what the names of their attributes begin with, followed by the name of the
	// step: by default "step:", so that the step charge is "step:charge". No other attribute may begin with it, and it has at most
	// 191 bytes.
	Steps, StepPrefix string
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
			{&c.attr.owner, names.Owner},
			{&c.attr.commit, names.Commit},
			{&c.attr.attempt, names.Attempt},
			{&c.attr.createdAt, names.CreatedAt},
			{&c.attr.reason, names.Reason},
			{&c.attr.parts, names.Parts},
			{&c.attr.encoding, names.Encoding},
			{&c.attr.layout, names.Layout},
			{&c.attr.completedAt, names.CompletedAt},
			{&c.attr.settledBy, names.SettledBy},
			{&c.attr.settledAt, names.SettledAt},
			{&c.attr.settledReason, names.SettledReason},
			{&c.attr.attention, names.Attention},
			{&c.attr.attentionAt, names.AttentionAt},
			{&c.attr.derived, names.Derived},
			{&c.attr.tries, names.Tries},
			{&c.attr.unmarked, names.Unmarked},
			{&c.attr.stepNames, names.StepNames},
			{&c.attr.trace, names.Trace},
			{&c.attr.steps, names.Steps},
		} {
			if r.name != "" {
				r.at.name = r.name
			}
		}
		if names.StepPrefix != "" {
			c.attr.stepPrefix = names.StepPrefix
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
		if strings.HasPrefix(at.name, c.attr.stepPrefix) {
			c.problemf("the name %q of the attribute %s begins with %q, as those of steps do", at.name, at.role(), c.attr.stepPrefix)
		}
	}
	if p := c.attr.stepPrefix; len(p) > maxName-maxStepName || !utf8.ValidString(p) {
		c.problemf("the prefix %q of the attributes of steps is not UTF-8 of at most %d bytes", p, maxName-maxStepName)
	}
}

// all returns every attribute that a record can have.
func (a attributes) all() []attribute {
	all := []attribute{
		a.id, a.status, a.expiration, a.lease, a.data, a.validation,
		a.owner, a.commit, a.attempt, a.createdAt, a.reason, a.parts, a.encoding, a.layout,
		a.completedAt, a.settledBy, a.settledAt, a.settledReason, a.attention, a.attentionAt, a.derived, a.tries, a.unmarked, a.trace,
		a.steps, a.stepNames,
	}
	if a.composite() {
		all = append(all, a.sort)
	}
	return all
}
