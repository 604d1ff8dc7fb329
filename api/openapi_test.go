package api_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/teammem/teammem/api"
)

func loadOpenAPI(t *testing.T) *openapi3.T {
	t.Helper()
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(api.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(loader.Context, openapi3.EnableExamplesValidation()); err != nil {
		t.Fatal(err)
	}
	return doc
}

// Every route is described, and nothing else is.
func TestOpenAPIHasTheRoutes(t *testing.T) {
	doc := loadOpenAPI(t)
	if !doc.IsOpenAPI31OrLater() {
		t.Errorf("the description is OpenAPI %s, want 3.1", doc.OpenAPI)
	}
	described := map[string]bool{}
	for pattern, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			described[method+" "+pattern] = true
		}
	}
	operations := map[string]bool{}
	for _, route := range api.Routes {
		name := route.Method + " " + route.Pattern
		if !described[name] {
			t.Errorf("%s is not described", name)
			continue
		}
		delete(described, name)
		op := doc.Paths.Value(route.Pattern).GetOperation(route.Method)
		if op.OperationID != route.Operation {
			t.Errorf("%s is %q there, want %q", name, op.OperationID, route.Operation)
		}
		if operations[route.Operation] {
			t.Errorf("two routes are called %q", route.Operation)
		}
		operations[route.Operation] = true
		if public := op.Security != nil && len(*op.Security) == 0; public != (route.Right == api.Public) {
			t.Errorf("%s needs no token there: %v; its right is %s", name, public, route.Right)
		}
		checkStatuses(t, route, op)
	}
	for name := range described {
		t.Errorf("%s is described and no route", name)
	}
}

// checkStatuses: what any route may answer stands with each.
func checkStatuses(t *testing.T, route api.Route, op *openapi3.Operation) {
	t.Helper()
	want := []string{"200", "500"}
	if route.Right != api.Public {
		want = append(want, "401", "403", "503")
	}
	for _, status := range want {
		if op.Responses.Value(status) == nil {
			t.Errorf("%s does not describe %s", route.Operation, status)
		}
	}
	for status, response := range op.Responses.Map() {
		if response.Value.Headers[api.HeaderRequestID] == nil || response.Value.Headers["Cache-Control"] == nil {
			t.Errorf("%s, %s: the headers every answer carries are missing", route.Operation, status)
		}
	}
}

func TestOpenAPIHasEveryCode(t *testing.T) {
	doc := loadOpenAPI(t)
	inner := doc.Components.Schemas["Error"].Value.Properties["error"].Value
	compareNames(t, "error.type", constants(t, "Code", ""), enumOf(inner.Properties["type"].Value))
	details := inner.Properties["details"].Value
	compareNames(t, "error_code", constants(t, "", "ErrorCode"), enumOf(details.Properties["error_code"].Value))

	described := map[string]bool{}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for status := range op.Responses.Map() {
				described[status] = true
			}
		}
	}
	for _, code := range constants(t, "Code", "") {
		if status := strconv.Itoa(api.Code(code).Status()); !described[status] {
			t.Errorf("no operation describes %s, the status of %s", status, code)
		}
	}
}

// constants gives the values of the string constants in error.go that are of the
// type, or whose name begins with the prefix.
func constants(t *testing.T, ofType, prefix string) (values []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		typeName := ""
		if ident, ok := spec.Type.(*ast.Ident); ok {
			typeName = ident.Name
		}
		if typeName == ofType && strings.HasPrefix(spec.Names[0].Name, prefix) {
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return true
	})
	if len(values) == 0 {
		t.Fatalf("no constants of type %q with prefix %q in error.go", ofType, prefix)
	}
	return values
}

func enumOf(schema *openapi3.Schema) (values []string) {
	for _, v := range schema.Enum {
		values = append(values, v.(string))
	}
	return values
}

func compareNames(t *testing.T, what string, want, got []string) {
	t.Helper()
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("%s: the code has\n%v\nand the description\n%v", what, want, got)
	}
}

// wireTypes are the types that cross the wire, each with a value that has all of
// it, and the name of its schema.
func wireTypes() map[string]any {
	text, sum, version, now := "t", someSum, api.Version(3), api.NewTime(time.Unix(1_800_000_000, 0))
	return map[string]any{
		"Memory": api.Memory{
			OrganizationID: "org_1", Repo: "acme/widgets", Version: 3, Epoch: "e", LastModified: now, Checksum: sum, Partial: true,
			Content:        api.Content{Entries: map[api.Key]string{"a": ""}, EntryChecksums: map[api.Key]api.Checksum{"a": sum}, EntryModified: map[api.Key]api.Time{"a": now}},
			EntryChecksums: map[api.Key]api.Checksum{"a": sum}, Deleted: map[api.Key]api.Checksum{"b": sum},
		},
		"Push": api.Push{
			Entries: map[api.Key]string{"a": ""}, Deletions: []api.Key{"b"},
			BaseChecksums: map[api.Key]*api.Checksum{"a": nil, "b": &sum}, Modified: map[api.Key]api.Time{"a": now},
		},
		"PushResult": api.PushResult{OrganizationID: "org_1", Repo: "acme/widgets", Version: 3, Epoch: "e", LastModified: now, Checksum: sum, Changed: true, Held: []api.Held{{Key: "a", Proposal: "prop_1", State: api.ProposalOpen, Rule: "r", Class: api.ClassHiddenText, Line: 1, Reason: "why"}}},
		"WhoAmI":     api.WhoAmI{OrganizationID: "org_1", Organization: "acme", User: "dana", Role: api.Member, TokenID: "tok_1", Expires: &now},
		"WellKnown":  api.WellKnown{Server: "teammem", Version: "1", Limits: api.DefaultLimits, Extensions: []string{api.ExtensionSince}},
		"OrgPolicy": api.OrgPolicy{
			OrganizationID: "org_1", Version: 3, Changed: &now, ChangedBy: "dana", FingerprintKey: strings.Repeat("0f", 32),
			Policy: api.Policy{
				Accepted: []api.Acceptance{{Fingerprint: "0123456789abcdef", Rule: "r", Reason: "why", User: "dana", At: now}},
				Review:   []api.ReviewRule{{Role: api.Viewer, Pattern: "**", Approvals: 1}},
			}.Complete(),
		},
		"Proposal": api.Proposal{
			ID: "prop_1", Repo: "acme/widgets", Key: "a", Deleted: true, State: api.ProposalOpen, Author: "dana", Client: "laptop", At: now, Version: 3,
			Checksum: sum, Base: &sum, Bytes: 1, Why: "why", Findings: []api.EntryFinding{{Key: "a", Rule: "r", Class: api.ClassSecret}}, Needed: 1,
			Approved: []api.Approval{{User: "lee", At: now}}, Closed: &now, ClosedBy: "lee", Reason: "no", Content: &text, Current: &text, Standing: &sum, Diff: "d",
		},
		"FindingList": api.FindingList{Findings: []api.EntryFinding{{Key: "a", Version: 3, Rule: "r", Class: api.ClassSecret}}, NextCursor: "a"},
		"Error": (&api.Error{Code: api.Conflict, Message: "m", Details: api.Details{
			ErrorCode: api.ErrorCodeConflict, MaxEntries: 1, ReceivedEntries: 2, MaxBytes: 3, ReceivedBytes: 4, Key: "a", Other: "b", Rule: "r",
			Place: "/a", Offset: 5, Conflicts: []api.Standing{{Key: "a", Checksum: &sum}, {Key: "b"}},
			Refused: []api.EntryFinding{{Key: "a", Version: 3, Rule: "r", Class: api.ClassSecret, Line: 1, Fingerprint: "f"}}, Version: &version, Checksum: sum, RequestID: "i",
			Organizations: []string{"acme"}, MaxRepos: 6, MaxPerMinute: 7,
		}}).Body(),
	}
}

// The types and their schemas have the same fields, and what the types write the
// schemas take.
func TestOpenAPIHasTheTypes(t *testing.T) {
	doc := loadOpenAPI(t)
	for name, value := range wireTypes() {
		schema := doc.Components.Schemas[name]
		if schema == nil {
			t.Errorf("there is no schema %s", name)
			continue
		}
		compareFields(t, name, reflect.TypeOf(value), schema.Value)
		written, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := conforms(schema.Value, string(written)); err != nil {
			t.Errorf("%s does not take %s: %v", name, written, err)
		}
	}
}

// compareFields walks a struct and its schema side by side.
func compareFields(t *testing.T, name string, typ reflect.Type, schema *openapi3.Schema) {
	t.Helper()
	var want, got []string
	for _, field := range reflect.VisibleFields(typ) {
		if field.Anonymous {
			continue
		}
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == "-" {
			continue
		}
		want = append(want, tag)
		inner := schema.Properties[tag]
		if inner == nil {
			continue
		}
		ft := field.Type
		if ft.Kind() == reflect.Slice {
			ft, inner = ft.Elem(), inner.Value.Items
		}
		if ft.Kind() == reflect.Struct && ft != reflect.TypeFor[api.Time]() {
			compareFields(t, name+"."+tag, ft, inner.Value)
		}
	}
	for property := range schema.Properties {
		got = append(got, property)
	}
	compareNames(t, name, want, got)
}

func conforms(schema *openapi3.Schema, text string) error {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return err
	}
	return schema.VisitJSON(v, openapi3.EnableJSONSchema2020(), openapi3.EnableFormatValidation())
}

// The schemas are worth asking: they refuse what is not of the contract.
func TestOpenAPIRefuses(t *testing.T) {
	doc := loadOpenAPI(t)
	for name, text := range map[string]string{
		"Memory":     strings.Replace(stockAnswer, `:7`, `:"7"`, 1),
		"Push":       `{"modified":{}}`,
		"PushResult": `{}`,
		"WhoAmI":     `{"organizationId":"o","organization":"a","user":"u","role":"king","tokenId":"t","expires":null}`,
		"WellKnown":  `{"server":"another","version":"1","limits":{},"extensions":[]}`,
		"Error":      `{"error":{"type":"nonsense","message":"m","details":{}}}`,
		"Checksum":   `"sha256:abc"`,
	} {
		if err := conforms(doc.Components.Schemas[name].Value, text); err == nil {
			t.Errorf("%s takes %s", name, text)
		}
	}
	for name, text := range map[string]string{
		"Push":   `{"entries":null,"deletions":["a"],"baseChecksums":{"a":null}}`,
		"WhoAmI": `{"organizationId":"o","organization":"a","user":"u","role":"admin","tokenId":"t","expires":null}`,
	} {
		if err := conforms(doc.Components.Schemas[name].Value, text); err != nil {
			t.Errorf("%s does not take %s: %v", name, text, err)
		}
	}
}

// The description is handed out as a copy.
func TestOpenAPIIsACopy(t *testing.T) {
	api.OpenAPI()[0] ^= 1
	if got := string(api.OpenAPI()[:8]); got != "# Writte" {
		t.Errorf("it begins %q now", got)
	}
}
