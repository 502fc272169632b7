aws dynamodb create-table --table-name {{.Name}} --billing-mode {{.BillingMode}} \
  --attribute-definitions{{range .Attributes}} AttributeName={{.Name}},AttributeType={{.Type}}{{end}} \
  --key-schema AttributeName={{.Key}},KeyType=HASH \
  --global-secondary-indexes 'IndexName={{.Index.Name}},KeySchema=[{AttributeName={{.Index.Hash}},KeyType=HASH},{AttributeName={{.Index.Range}},KeyType=RANGE}],Projection={ProjectionType=INCLUDE,NonKeyAttributes=[{{join .Index.Includes ","}}]}'
aws dynamodb wait table-exists --table-name {{.Name}}
aws dynamodb update-time-to-live --table-name {{.Name}} \
  --time-to-live-specification AttributeName={{.TimeToLive}},Enabled=true
aws iam put-role-policy --role-name ROLE --policy-name {{.Name}} --policy-document '{"Version":"2012-10-17","Statement":[{
  "Effect":"Allow","Resource":"arn:aws:dynamodb:REGION:ACCOUNT:table/{{.Name}}",
  "Action":[{{range $n, $a := .Actions}}{{if $n}},{{end}}"{{$a}}"{{end}}],
  "Condition":{"ForAllValues:StringLike":{"dynamodb:LeadingKeys":"FUNCTION#*"},"Null":{"dynamodb:LeadingKeys":"false"}}}]}'
