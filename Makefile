SHELL := /bin/bash
.DEFAULT_GOAL := help

# EXAMPLE=apigw-charge (default) or orders.
EXAMPLE ?= apigw-charge
FUNCTION := $(if $(filter orders,$(EXAMPLE)),OrdersFunction,ChargeFunction)
# STORE=memory (default) or dynamodb, for run and demo.
STORE ?= memory
PORT ?= 3000
# STRICT=1 turns tests that cannot run into failures.
STRICT ?=
# FUZZTIME bounds each fuzz target.
FUZZTIME ?= 20s
# RUN selects sections of the benchmarks by a regular expression, ROUNDS is how often each of their cases is measured.
RUN ?=
ROUNDS ?= 15
# PACKAGES are what mutants changes, FILES selects their files by a regular expression.
PACKAGES ?= ./internal/protocol ./store
FILES ?=
# STACK names the CloudFormation stack, PARAMETERS sets parameters of template.yaml: PARAMETERS='Authorization=AWS_IAM'.
STACK ?= idempotent
PARAMETERS ?=
# ARCHITECTURE is arm64 or x86_64, for the build and the template alike.
ARCHITECTURE ?= arm64
# EVENT is a file in the folder events of the example.
EVENT ?= $(if $(filter orders,$(EXAMPLE)),order.json,charge.json)
# EMULATOR is what local-up starts: dynamodb-local or localstack.
EMULATOR ?= dynamodb-local

TOOLS := $(CURDIR)/.tools/bin
GOLANGCI := $(TOOLS)/golangci-lint
GOLANGCI_VERSION := v2.15.0
GREMLINS := $(TOOLS)/gremlins
GREMLINS_VERSION := v0.6.0
SAM := $(CURDIR)/.tools/sam/bin/sam
export SAM_CLI_TELEMETRY ?= 0

# Runs a command with DynamoDB Local beside it, or with the endpoint that DYNAMODB_ENDPOINT names.
WITH_DYNAMODB := go run ./internal/dev/dynamolocal/cmd/with-dynamodb --

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: ## the example on 127.0.0.1:3000 (EXAMPLE=orders, PORT=, STORE=dynamodb); stop it with Ctrl-C
	@go build -o $(TOOLS)/local-$(EXAMPLE) ./examples/$(EXAMPLE)/local
	@STORE=$(STORE) PORT=$(PORT) exec $(TOOLS)/local-$(EXAMPLE)

.PHONY: demo
demo: ## the whole story without a person: charge, replay, misuse, crash, recovery (EXAMPLE=orders, STORE=dynamodb)
	@go build -o $(TOOLS)/demo-$(EXAMPLE) ./examples/$(EXAMPLE)/demo
	@STORE=$(STORE) exec $(TOOLS)/demo-$(EXAMPLE)

.PHONY: cli
cli: ## the operator's command line, .tools/bin/idempotent; docs/runbook.md says what for
	cd cmd/idempotent && go build -trimpath -o $(TOOLS)/idempotent .
	@echo 'Try it: .tools/bin/idempotent list --demo'

# The conformance tests of package dynamo on tables that differ from the usual one, and on that of the template.
OTHER_TABLES := ^TestStore(On|Behind|With)

.PHONY: test
test: ## every test, most with the race detector, and DynamoDB Local (STRICT=1, DYNAMODB_ENDPOINT=)
	@# The explorer plays one step at a time: the race detector sees some of its schedules, and all are played without it. The end-to-end tests
	@# have deadlines of real seconds, so nothing runs beside them, and DynamoDB Local has nothing to keep of the tests before them.
	@# The race detector is off for them: nearly all functions are processes of their own, and it sees the tests of the proxy between them.
	@# A search spends its time on waiting for goroutines and on garbage: eight searches at once, and a late collector, save a quarter of it.
	@# The race detector sees package dynamo on the usual table: on the others the same code runs, and without it four times as fast.
	IDEMPOTENT_TEST_STRICT=$(STRICT) $(WITH_DYNAMODB) $(SHELL) -c '\
		go test -race -shuffle=on -timeout 20m -skip "$(OTHER_TABLES)" ./... && go test -shuffle=on -run "$(OTHER_TABLES)" ./dynamo ./internal/stack && \
		(cd cmd/idempotent && go test -race -shuffle=on ./...) && \
		(cd bench && go test -shuffle=on ./...) && (cd examples/routers && go test -race -shuffle=on ./...)'
	IDEMPOTENT_TEST_STRICT=$(STRICT) $(WITH_DYNAMODB) $(SHELL) -c 'cd proof && \
		go test -race -shuffle=on -timeout 20m $$(go list ./... | grep -vE "/(e2e|explore)$$") && \
		export GOGC=400 && go test -parallel 8 -timeout 20m ./explore ./messages ./consumers && \
		go test -race -skip TestEverySchedule ./explore'
	IDEMPOTENT_TEST_STRICT=$(STRICT) $(WITH_DYNAMODB) go test -C proof -shuffle=on ./e2e
	@echo 'Allocation counts, which the race detector changes, and a million of records and items, which it makes slow:'
	go test -run 'Alloc|TestAMillion' ./...

.PHONY: pictures
pictures: ## the pictures of the page in docs/images, by a real browser
	IDEMPOTENT_PICTURES=$(CURDIR)/docs/images IDEMPOTENT_TEST_STRICT=1 go test -C proof -count=1 -run TestPictures ./browser

.PHONY: lint
lint: $(GOLANGCI) ## formatting, linters, and the rules about what may import what
	@set -e; for module in . bench proof examples/routers; do \
		echo "lint $$module"; (cd $$module && go mod tidy -diff && $(GOLANGCI) run ./...); \
	done
	@echo "lint cmd/idempotent"; .ci/tidy-cli -diff && cd cmd/idempotent && $(GOLANGCI) run ./...

$(GOLANGCI):
	GOBIN=$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME
	@set -e; for package in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "$$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

.PHONY: torture
torture: ## random kills of the real binary on the wire, for TORTURE=10m
	IDEMPOTENT_TORTURE=$(or $(TORTURE),10m) IDEMPOTENT_TEST_STRICT=1 $(WITH_DYNAMODB) \
		go test -C proof -timeout 0 -count=1 -run Kill -v ./e2e

.PHONY: bench
bench: ## what it costs, beside the SDK by hand and other libraries (RUN=fake, ROUNDS=15)
	@$(WITH_DYNAMODB) go run -C bench . -run '$(RUN)' -rounds $(ROUNDS)

# The proof is a module of its own, see docs/guarantees.md.

.PHONY: controls
controls: ## takes the guards out, one at a time, and requires that a test fails each time (SKIP=)
	IDEMPOTENT_TEST_STRICT=1 $(WITH_DYNAMODB) go run -C proof ./controls -skip '$(or $(SKIP),^$$)'

.PHONY: mutants
mutants: $(GREMLINS) ## mutation testing of the protocol, by the same means (PACKAGES='./dynamo ./cache' FILES=)
	go run -C proof ./controls -mutants $(GREMLINS) -run '$(FILES)' $(PACKAGES)

$(GREMLINS):
	GOBIN=$(TOOLS) go install github.com/go-gremlins/gremlins/cmd/gremlins@$(GREMLINS_VERSION)

.PHONY: model
model: ## checks the model of the protocol with Spin, with and without its guards
	proof/model/check

.PHONY: interop
interop: ## AWS Powertools for Python and TypeScript and this library on one table, in every direction (STRICT=1)
	@IDEMPOTENT_INTEROP=1 IDEMPOTENT_TEST_STRICT=$(STRICT) $(WITH_DYNAMODB) $(SHELL) -c '\
		(cd proof/interop && go test -count=1 -timeout 20m -run "TestMatrix|TestExpression") && \
		cd bench && go test -count=1 -run "Peers|Measures/powertools"'

# The deployment, see docs/deployment.md.

.PHONY: template
template: ## template.yaml: validated, linted, built, run under Lambda's emulator (STRICT=1)
	@IDEMPOTENT_TEST_STRICT=$(STRICT) .ci/template

.PHONY: build
build: ## the Lambda binary of the example, as SAM builds it (EXAMPLE=orders, ARCHITECTURE=x86_64)
	@$(MAKE) --no-print-directory build-$(FUNCTION) ARTIFACTS_DIR=$(CURDIR)

# What sam build calls. It gives the same bytes wherever and whenever it runs with one version of Go.
FUNCTIONS := build-ChargeFunction build-OrdersFunction build-RelayFunction build-DrainFunction build-ShippingFunction build-AttentionFunction build-ReconcileFunction build-StripeFunction build-SweepFunction
.PHONY: $(FUNCTIONS)
build-ChargeFunction: BUILT = ./examples/apigw-charge
build-OrdersFunction: BUILT = ./examples/orders
build-RelayFunction: BUILT = ./examples/orders/relay
build-DrainFunction: BUILT = ./examples/orders/drain
build-ShippingFunction: BUILT = ./examples/orders/consumer
build-AttentionFunction: BUILT = ./examples/attention-count
build-ReconcileFunction: BUILT = ./examples/apigw-charge/reconcile
build-StripeFunction: BUILT = ./examples/stripe-webhook
build-SweepFunction: BUILT = ./examples/sweep
$(FUNCTIONS):
	CGO_ENABLED=0 GOOS=linux GOARCH=$(if $(filter x86_64,$(ARCHITECTURE)),amd64,arm64) GOFLAGS= \
		go build -trimpath -buildvcs=false -tags lambda.norpc -ldflags '-s -w -buildid=' \
		-o "$(or $(ARTIFACTS_DIR),$(error ARTIFACTS_DIR is not set))/bootstrap" $(BUILT)

.PHONY: deploy
deploy: $(SAM) ## builds and deploys the example (STACK=, PARAMETERS=, ARCHITECTURE=)
	ARCHITECTURE=$(ARCHITECTURE) $(SAM) build
	$(SAM) deploy --stack-name $(STACK) --parameter-overrides Architecture=$(ARCHITECTURE) $(PARAMETERS)

.PHONY: invoke
invoke: $(SAM) ## sends a sample event to the deployed function (EXAMPLE=orders, EVENT=charge.json)
	$(SAM) remote invoke $(FUNCTION) --stack-name $(STACK) --event-file examples/$(EXAMPLE)/events/$(EVENT)

.PHONY: logs
logs: $(SAM) ## follows the logs of the deployed function (EXAMPLE=orders)
	$(SAM) logs --stack-name $(STACK) --name $(FUNCTION) --tail

.PHONY: delete
delete: $(SAM) ## deletes the stack; DeletionProtection=false has to be deployed before
	$(SAM) delete --stack-name $(STACK)

# Tools in Python, each in an environment of its own: their dependencies do not agree.
$(SAM): .ci/requirements-sam.txt
	.ci/venv $(CURDIR)/.tools/sam $<

# DynamoDB in Docker.

# An endpoint that is given to the tests serves run and demo, too.
ifdef DYNAMODB_ENDPOINT
export AWS_ENDPOINT_URL_DYNAMODB ?= $(DYNAMODB_ENDPOINT)
endif

COMPOSE := docker compose --file localstack/compose.yaml --profile localstack
DYNAMODB_LOCAL_PORT ?= 8000
LOCALSTACK_PORT ?= 4566
export DYNAMODB_LOCAL_PORT LOCALSTACK_PORT
LOCAL_ENDPOINT = http://127.0.0.1:$(if $(filter localstack,$(EMULATOR)),$(LOCALSTACK_PORT),$(DYNAMODB_LOCAL_PORT))

.PHONY: local-up
local-up: ## DynamoDB Local in Docker with the table of template.yaml (EMULATOR=localstack)
	$(COMPOSE) up --detach --wait $(EMULATOR)
	go run ./internal/stack/cmd/create-table -endpoint $(LOCAL_ENDPOINT)
	@echo 'make run STORE=dynamodb DYNAMODB_ENDPOINT=$(LOCAL_ENDPOINT)'
	@echo 'make test DYNAMODB_ENDPOINT=$(LOCAL_ENDPOINT)'

.PHONY: local-down
local-down: ## ends what local-up began
	$(COMPOSE) down --volumes
