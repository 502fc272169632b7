# The table of idempotency records, the policy of the function that uses it, the alarms on what its invocations report, and,
# if asked for, the table of an outbox. docs/deploy.md explains it; a test compares it with dynamo.TableDefinition.

terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = { source = "hashicorp/aws", version = ">= 5.0" }
  }
}

resource "aws_dynamodb_table" "records" {
  name         = var.table_name
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "id"

  attribute {
    name = "id"
    type = "S"
  }
  attribute {
    name = "attention"
    type = "S"
  }
  attribute {
    name = "attention_at"
    type = "N"
  }
  global_secondary_index {
    name               = "attention-index"
    hash_key           = "attention"
    range_key          = "attention_at"
    projection_type    = "INCLUDE"
    non_key_attributes = ["status", "reason", "attempt"]
  }
  ttl {
    attribute_name = "expiration"
    enabled        = true
  }
  point_in_time_recovery { enabled = true }
  deletion_protection_enabled = true
}

resource "aws_dynamodb_table" "messages" {
  count            = var.messages_table_name == null ? 0 : 1
  name             = var.messages_table_name
  billing_mode     = "PAY_PER_REQUEST"
  hash_key         = "id"
  stream_enabled   = true
  stream_view_type = "NEW_IMAGE"

  attribute {
    name = "id"
    type = "S"
  }
  attribute {
    name = "outbox_shard"
    type = "S"
  }
  attribute {
    name = "outbox_due"
    type = "N"
  }
  global_secondary_index {
    name               = "outbox-index"
    hash_key           = "outbox_shard"
    range_key          = "outbox_due"
    projection_type    = "INCLUDE"
    non_key_attributes = ["created_at"]
  }
  ttl {
    attribute_name = "expiration"
    enabled        = true
  }
  point_in_time_recovery { enabled = true }
  deletion_protection_enabled = true
}

data "aws_iam_policy_document" "function" {
  statement {
    actions = [
      "dynamodb:BatchGetItem",
      "dynamodb:BatchWriteItem",
      "dynamodb:DeleteItem",
      "dynamodb:GetItem",
      "dynamodb:PutItem",
      "dynamodb:UpdateItem",
    ]
    resources = [aws_dynamodb_table.records.arn]
    condition {
      test     = "ForAllValues:StringLike"
      variable = "dynamodb:LeadingKeys"
      values   = ["${local.operation}#*"]
    }
    condition {
      test     = "Null"
      variable = "dynamodb:LeadingKeys"
      values   = ["false"]
    }
  }
}

locals {
  operation = coalesce(var.operation, var.function_name)
  alarms = {
    BecameUnknown = ["Idempotent", "Operation", "Nobody knows whether something was executed. ${var.runbook}#blocked-key"]
    MetUnknown    = ["Idempotent", "Operation", "Clients retry what nobody knows about. ${var.runbook}#blocked-key"]
    StoreError    = ["Idempotent", "Operation", "The table does not answer, and nothing executes. ${var.runbook}#table"]
    Errors        = ["AWS/Lambda", "FunctionName", "Invocations panic or time out. ${var.runbook}#crash"]
    Throttles     = ["AWS/Lambda", "FunctionName", "Requests are refused, too many run at once. ${var.runbook}#alarms"]
  }
}

resource "aws_cloudwatch_metric_alarm" "function" {
  for_each            = local.alarms
  alarm_name          = "${var.function_name}-${each.key}"
  alarm_description   = each.value[2]
  namespace           = each.value[0]
  metric_name         = each.key
  dimensions          = { (each.value[1]) = each.value[1] == "Operation" ? local.operation : var.function_name }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 1
  threshold           = 0
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_actions
}

variable "function_name" { type = string }
variable "table_name" { type = string }
variable "operation" {
  description = "What the function says in WithOperation. Null is the name of the function."
  type        = string
  default     = null
}
variable "messages_table_name" {
  description = "The table of an outbox. Null makes none."
  type        = string
  default     = null
}
variable "alarm_actions" {
  type    = list(string)
  default = []
}
variable "runbook" {
  type    = string
  default = "https://github.com/go-idempotent/idempotent/blob/main/docs/runbook.md"
}

output "policy" { value = data.aws_iam_policy_document.function.json }
