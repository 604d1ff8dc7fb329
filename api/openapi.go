package api

import (
	_ "embed"
	"slices"
)

//go:embed openapi.yaml
var openAPI []byte

// OpenAPI is the description of the contract in OpenAPI 3.1, as YAML. It is
// written by hand and held against [Routes] and the types by tests.
func OpenAPI() []byte { return slices.Clone(openAPI) }
