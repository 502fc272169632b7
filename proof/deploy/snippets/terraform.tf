resource "aws_dynamodb_table" "records" {
  name         = "{{.Name}}"
  billing_mode = "{{.BillingMode}}"
  hash_key     = "{{.Key}}"
{{range .Attributes}}
  attribute {
    name = "{{.Name}}"
    type = "{{.Type}}"
  }
{{- end}}
  global_secondary_index {
    name               = "{{.Index.Name}}"
    hash_key           = "{{.Index.Hash}}"
    range_key          = "{{.Index.Range}}"
    projection_type    = "INCLUDE"
    non_key_attributes = [{{range $n, $a := .Index.Includes}}{{if $n}}, {{end}}"{{$a}}"{{end}}]
  }
  ttl {
    attribute_name = "{{.TimeToLive}}"
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
