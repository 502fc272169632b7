const table = new dynamodb.Table(this, "Records", {
  partitionKey: { name: "{{.Key}}", type: dynamodb.AttributeType.STRING },
  billingMode: dynamodb.BillingMode.{{.BillingMode}},
  timeToLiveAttribute: "{{.TimeToLive}}",
  removalPolicy: RemovalPolicy.RETAIN,
});
table.addGlobalSecondaryIndex({
  indexName: "{{.Index.Name}}",
  partitionKey: { name: "{{.Index.Hash}}", type: dynamodb.AttributeType.STRING },
  sortKey: { name: "{{.Index.Range}}", type: dynamodb.AttributeType.NUMBER },
  projectionType: dynamodb.ProjectionType.INCLUDE,
  nonKeyAttributes: [{{range $n, $a := .Index.Includes}}{{if $n}}, {{end}}"{{$a}}"{{end}}],
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
