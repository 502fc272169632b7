{{$index := index .GlobalSecondaryIndexes 0 -}}
resource "aws_dynamodb_table" "records" {
  name         = "{{.Name}}"
  billing_mode = "{{.BillingMode}}"
  hash_key     = "{{(index .KeySchema 0).AttributeName}}"
{{range .AttributeDefinitions}}
  attribute {
    name = "{{.AttributeName}}"
    type = "{{.AttributeType}}"
  }
{{- end}}
  global_secondary_index {
    name               = "{{$index.IndexName}}"
    hash_key           = "{{(index $index.KeySchema 0).AttributeName}}"
    range_key          = "{{(index $index.KeySchema 1).AttributeName}}"
    projection_type    = "INCLUDE"
    non_key_attributes = [{{range $n, $a := $index.Projection.NonKeyAttributes}}{{if $n}}, {{end}}"{{$a}}"{{end}}]
  }
  ttl {
    attribute_name = "{{.TimeToLiveSpecification.AttributeName}}"
    enabled        = true
  }
}

data "aws_iam_policy_document" "function" {
  statement {
    actions = [
{{- range .Actions}}
      "{{.}}",
{{- end}}
    ]
    resources = [aws_dynamodb_table.records.arn]
    condition {
      test     = "ForAllValues:StringLike"
      variable = "dynamodb:LeadingKeys"
      values   = ["${aws_lambda_function.charge.function_name}#*"]
    }
    condition {
      test     = "Null"
      variable = "dynamodb:LeadingKeys"
      values   = ["false"]
    }
  }
}
