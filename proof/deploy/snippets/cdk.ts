{{$index := index .GlobalSecondaryIndexes 0 -}}
const table = new dynamodb.Table(this, "Records", {
  partitionKey: { name: "{{(index .KeySchema 0).AttributeName}}", type: dynamodb.AttributeType.STRING },
  billingMode: dynamodb.BillingMode.{{.BillingMode}},
  timeToLiveAttribute: "{{.TimeToLiveSpecification.AttributeName}}",
  removalPolicy: RemovalPolicy.RETAIN,
});
table.addGlobalSecondaryIndex({
  indexName: "{{$index.IndexName}}",
  partitionKey: { name: "{{(index $index.KeySchema 0).AttributeName}}", type: dynamodb.AttributeType.STRING },
  sortKey: { name: "{{(index $index.KeySchema 1).AttributeName}}", type: dynamodb.AttributeType.NUMBER },
  projectionType: dynamodb.ProjectionType.INCLUDE,
  nonKeyAttributes: [{{range $n, $a := $index.Projection.NonKeyAttributes}}{{if $n}}, {{end}}"{{$a}}"{{end}}],
});
charge.addToRolePolicy(new iam.PolicyStatement({
  actions: [
{{- range .Actions}}
    "{{.}}",
{{- end}}
  ],
  resources: [table.tableArn],
  conditions: {
    "ForAllValues:StringLike": { "dynamodb:LeadingKeys": `${functionName}#*` },
    Null: { "dynamodb:LeadingKeys": "false" },
  },
}));
