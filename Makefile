SHELL := /bin/bash
.DEFAULT_GOAL := help

# STORE=memory (default) or dynamodb, for run and demo.
STORE ?= memory
PORT ?= 3000
# STRICT=1 turns tests that cannot run into failures.
STRICT ?=
# FUZZTIME bounds each fuzz target.
FUZZTIME ?= 20s

TOOLS := $(CURDIR)/.tools/bin
GOLANGCI := $(TOOLS)/golangci-lint
GOLANGCI_VERSION := v2.15.0

# Runs a command with DynamoDB Local beside it, or with the endpoint that DYNAMODB_ENDPOINT names.
WITH_DYNAMODB := go run ./internal/dynamolocal/cmd/with-dynamodb --

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: ## the example on 127.0.0.1:3000 (PORT=, STORE=dynamodb); stop it with Ctrl-C
	@go build -o $(TOOLS)/local ./examples/apigw-charge/local
	@STORE=$(STORE) PORT=$(PORT) exec $(TOOLS)/local

.PHONY: demo
demo: ## the whole story without a person: charge, replay, misuse, crash, recovery (STORE=dynamodb)
	@go build -o $(TOOLS)/demo ./examples/apigw-charge/demo
	@STORE=$(STORE) exec $(TOOLS)/demo

.PHONY: build
build: ## the Lambda binary of the example
	CGO_ENABLED=0 GOOS=linux go build -trimpath -tags lambda.norpc -ldflags '-s -w' -o bootstrap ./examples/apigw-charge

.PHONY: test
test: ## every test, with the race detector and DynamoDB Local (STRICT=1, DYNAMODB_ENDPOINT=)
	@# The end-to-end tests have deadlines of real seconds, so nothing runs beside them.
	IDEMPOTENT_TEST_STRICT=$(STRICT) $(WITH_DYNAMODB) $(SHELL) -c '\
		go test -race -shuffle=on $$(go list ./... | grep -v /internal/e2e) && go test -race -shuffle=on ./internal/e2e'
	@echo 'Allocation counts, which the race detector changes:'
	go test -run 'Alloc' ./...

.PHONY: torture
torture: ## random kills of the real binary on the wire, for TORTURE=10m
	IDEMPOTENT_TORTURE=$(or $(TORTURE),10m) IDEMPOTENT_TEST_STRICT=1 $(WITH_DYNAMODB) go test -timeout 0 -count=1 -run Kill -v ./internal/e2e

.PHONY: bench
bench: ## benchmarks
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME
	@set -e; for package in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "$$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

.PHONY: lint
lint: $(GOLANGCI) ## formatting, linters, and the rules about what may import what
	go mod tidy -diff
	$(GOLANGCI) run ./...

$(GOLANGCI):
	GOBIN=$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
