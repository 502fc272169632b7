{{$index := index .GlobalSecondaryIndexes 0 -}}
aws dynamodb create-table --table-name {{.Name}} --billing-mode {{.BillingMode}} \
  --attribute-definitions{{range .AttributeDefinitions}} AttributeName={{.AttributeName}},AttributeType={{.AttributeType}}{{end}} \
  --key-schema AttributeName={{(index .KeySchema 0).AttributeName}},KeyType=HASH \
  --global-secondary-indexes 'IndexName={{$index.IndexName}},KeySchema=[{AttributeName={{(index $index.KeySchema 0).AttributeName}},KeyType=HASH},{AttributeName={{(index $index.KeySchema 1).AttributeName}},KeyType=RANGE}],Projection={ProjectionType=INCLUDE,NonKeyAttributes=[{{join $index.Projection.NonKeyAttributes ","}}]}'
aws dynamodb wait table-exists --table-name {{.Name}}
aws dynamodb update-time-to-live --table-name {{.Name}} \
  --time-to-live-specification AttributeName={{.TimeToLiveSpecification.AttributeName}},Enabled=true
aws iam put-role-policy --role-name ROLE --policy-name {{.Name}} --policy-document '{"Version":"2012-10-17","Statement":[{
  "Effect":"Allow","Resource":"arn:aws:dynamodb:REGION:ACCOUNT:table/{{.Name}}",
  "Action":[{{range $n, $a := .Actions}}{{if $n}},{{end}}"{{$a}}"{{end}}],
  "Condition":{"ForAllValues:StringLike":{"dynamodb:LeadingKeys":"FUNCTION#*"},"Null":{"dynamodb:LeadingKeys":"false"}}}]}'
