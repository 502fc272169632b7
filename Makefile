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
# TEMPLATE is that of the example, STACK names its CloudFormation stack, PARAMETERS sets its parameters: PARAMETERS=PaymentsUrl=https://…
TEMPLATE := $(if $(filter orders,$(EXAMPLE)),examples/orders/template.yaml,template.yaml)
STACK ?= idempotent
PARAMETERS ?=
# ARCHITECTURE of make build is arm64, as in the templates, or x86_64.
ARCHITECTURE ?= arm64
# EVENT is a file in the folder events of the example.
EVENT ?= $(if $(filter orders,$(EXAMPLE)),order.json,charge.json)
# EMULATOR is what local-up starts: dynamodb-local or localstack.
EMULATOR ?= dynamodb-local

TOOLS := $(CURDIR)/.tools/bin
GOLANGCI := $(TOOLS)/golangci-lint
GOLANGCI_VERSION := v2.15.0
SAM := $(CURDIR)/.tools/sam/bin/sam
export SAM_CLI_TELEMETRY ?= 0

# Runs a command with DynamoDB Local beside it, or with the endpoint that DYNAMODB_ENDPOINT names.
WITH_DYNAMODB := go run ./internal/testkit/cmd/with-dynamodb --

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The functions of the examples, as they are deployed, and the server that runs them here.
EXAMPLES := $(TOOLS)/examples
DEV := go build -C examples -tags lambda.norpc -o $(EXAMPLES)/ ./apigw-charge ./orders ./orders/relay ./orders/drain && \
	go build -o $(TOOLS)/dev ./internal/dev/cmd/dev

.PHONY: run
run: ## the example on 127.0.0.1:3000 (EXAMPLE=orders, PORT=, STORE=dynamodb); stop it with Ctrl-C
	@$(DEV)
	@STORE=$(STORE) PORT=$(PORT) exec $(TOOLS)/dev run $(EXAMPLE) $(EXAMPLES)

.PHONY: demo
demo: ## the whole story without a person: charge, replay, misuse, crash, recovery (EXAMPLE=orders, STORE=dynamodb)
	@$(DEV)
	@STORE=$(STORE) exec $(TOOLS)/dev demo $(EXAMPLE) $(EXAMPLES)

.PHONY: cli
cli: ## the operator's command line, .tools/bin/idempotent; docs/runbook.md says what for
	cd cmd/idempotent && go build -trimpath -buildvcs=auto -o $(TOOLS)/idempotent .
	@echo 'Try it: .tools/bin/idempotent list --demo'

# The rings are lists of stages in proof/rings/stages.go. Compilers, linters and the explorer make garbage: a late collector saves a
# fifth of their time.
RINGS = @export GOGC=$${GOGC:-400}; go build -C proof -o $(TOOLS)/rings ./rings && IDEMPOTENT_TEST_STRICT=$(STRICT) exec $(TOOLS)/rings

.PHONY: test
test: ## all that a contributor needs to trust a change, with DynamoDB Local (STRICT=1, DYNAMODB_ENDPOINT=)
	$(RINGS) test

.PHONY: change
change: ## what a change must pass: lint, the tests, and what tells more about what it touches (BASE=, STRICT=1)
	$(RINGS) change

.PHONY: prove
prove: ## everything there is (STRICT=1)
	$(RINGS) prove

.PHONY: pictures
pictures: ## the pictures of the page in docs/images, by a real browser
	IDEMPOTENT_PICTURES=$(CURDIR)/docs/images IDEMPOTENT_TEST_STRICT=1 go test -C proof -count=1 -run TestPictures ./browser

.PHONY: lint
lint: $(GOLANGCI) ## formatting, linters, and the rules about what may import what
	@failed=; for module in $$(git ls-files go.mod '*/go.mod' | xargs dirname); do \
		echo "lint $$module"; \
		.ci/tidy -diff $$module && (cd $$module && $(GOLANGCI) run ./...) || failed="$$failed $$module"; \
	done; test -z "$$failed" || { echo "lint:$$failed"; exit 1; }

$(GOLANGCI):
	GOBIN=$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

.PHONY: release
release: ## what is tagged has no replacement, and everybody can build it; TAG=yes makes the tags, in their order
	.ci/release $(if $(TAG),--tag)

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
	@go run -C bench . -run '$(RUN)' -rounds $(ROUNDS)

# The proof is a module of its own, see proof/README.md.

.PHONY: controls
controls: ## takes the guards out, one at a time, and requires that a test fails each time
	IDEMPOTENT_TEST_STRICT=1 $(WITH_DYNAMODB) go run -C proof ./controls

.PHONY: interop
interop: ## AWS Powertools for Python and TypeScript and this library on one table, in every direction (STRICT=1)
	@IDEMPOTENT_TEST_STRICT=$(STRICT) $(WITH_DYNAMODB) $(SHELL) -c '\
		cd proof/interop && go test -count=1 -timeout 20m'

# The deployment, see docs/deploy.md.

.PHONY: template
template: ## the templates: linted, compared with the code, built, run under Lambda's emulator (STRICT=1)
	@IDEMPOTENT_TEST_STRICT=$(STRICT) .ci/template

.PHONY: build
build: ## the Lambda binary of the example, as SAM builds it (EXAMPLE=orders, ARCHITECTURE=x86_64)
	@$(MAKE) --no-print-directory build-$(FUNCTION) ARTIFACTS_DIR=$(CURDIR)

# What sam build calls. It gives the same bytes wherever and whenever it runs with one version of Go.
FUNCTIONS := build-ChargeFunction build-OrdersFunction build-RelayFunction build-DrainFunction
.PHONY: $(FUNCTIONS)
build-ChargeFunction: BUILT = ./apigw-charge
build-OrdersFunction: BUILT = ./orders
build-RelayFunction: BUILT = ./orders/relay
build-DrainFunction: BUILT = ./orders/drain
$(FUNCTIONS):
	CGO_ENABLED=0 GOOS=linux GOARCH=$(if $(filter x86_64,$(ARCHITECTURE)),amd64,arm64) GOFLAGS= \
		go build -C examples -trimpath -buildvcs=false -tags lambda.norpc -ldflags '-s -w -buildid=' \
		-o "$(abspath $(or $(ARTIFACTS_DIR),$(error ARTIFACTS_DIR is not set)))/bootstrap" $(BUILT)

.PHONY: deploy
deploy: $(SAM) ## builds and deploys the example (EXAMPLE=orders, STACK=, PARAMETERS=)
	$(SAM) build --build-in-source --template $(TEMPLATE)
	$(SAM) deploy --stack-name $(STACK) --capabilities CAPABILITY_IAM --resolve-s3 --confirm-changeset \
		--no-fail-on-empty-changeset $(if $(PARAMETERS),--parameter-overrides $(PARAMETERS))

.PHONY: invoke
invoke: $(SAM) ## sends a sample event to the deployed function (EXAMPLE=orders, EVENT=charge.json)
	$(SAM) remote invoke $(FUNCTION) --stack-name $(STACK) --event-file examples/$(EXAMPLE)/events/$(EVENT)

.PHONY: logs
logs: $(SAM) ## follows the logs of the deployed function (EXAMPLE=orders)
	$(SAM) logs --stack-name $(STACK) --name $(FUNCTION) --tail

.PHONY: delete
delete: $(SAM) ## deletes the stack, and leaves its tables behind
	$(SAM) delete --stack-name $(STACK)

# A tool in Python, in an environment of its own.
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
local-up: ## DynamoDB Local in Docker with the table of the records (EMULATOR=localstack)
	$(COMPOSE) up --detach --wait $(EMULATOR)
	go run ./internal/dev/cmd/dev table idempotency $(LOCAL_ENDPOINT)
	@echo 'make run STORE=dynamodb DYNAMODB_ENDPOINT=$(LOCAL_ENDPOINT)'
	@echo 'make test DYNAMODB_ENDPOINT=$(LOCAL_ENDPOINT)'

.PHONY: local-down
local-down: ## ends what local-up began
	$(COMPOSE) down --volumes
