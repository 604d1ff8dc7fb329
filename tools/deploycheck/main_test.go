package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the project's.
const root = "../.."

// plant copies what is checked and changes one text in one file.
func plant(t *testing.T, file, from, to string) string {
	t.Helper()
	dir := t.TempDir()
	for _, path := range []string{"docker-compose.yml", "Dockerfile", "deploy"} {
		source := filepath.Join(root, path)
		if info, err := os.Stat(source); err != nil {
			t.Fatal(err)
		} else if info.IsDir() {
			if err := os.CopyFS(filepath.Join(dir, path), os.DirFS(source)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if file == "" {
		return dir
	}
	path := filepath.Join(dir, file)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), from) {
		t.Fatalf("%s has no %q", file, from)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func all(dir string) []string {
	return append(append(compose(context.Background(), dir), kubernetes(dir)...), plists(dir)...)
}

func TestWhatWeShipHolds(t *testing.T) {
	for _, problem := range all(plant(t, "", "", "")) {
		t.Error(problem)
	}
}

// Each slip is found and named.
func TestSlipsAreFound(t *testing.T) {
	const (
		composeFile = "docker-compose.yml"
		server      = "deploy/kubernetes/server.yaml"
		plist       = "deploy/launchd/teammem-server.plist"
	)
	for _, c := range []struct{ file, from, to, want string }{
		{composeFile, "read_only: true", "read_onyl: true", "read_onyl"},
		{composeFile, "restart: unless-stopped", "restart: sometimes", "restart"},
		{composeFile, `"127.0.0.1:3000:3000"`, `"3000:3000"`, "grafana: port 3000"},
		{composeFile, "POSTGRES_PASSWORD_FILE: /run/secrets/postgres/password", "POSTGRES_PASSWORD: sesame", "the secret POSTGRES_PASSWORD"},
		{composeFile, "cap_drop: [ALL]", "cap_drop: [NET_RAW]", "keeps capabilities"},
		{composeFile, "postgres:17-alpine\n    user", "postgres\n    user", "the image postgres has no version"},
		{composeFile, "cpus: \"1\", memory: 512M, ", "", "grafana: it has no limits"},
		{composeFile, "networks: [data]", "networks: [date]", "date"},
		{composeFile, "./deploy/compose/secrets.sh:", "./deploy/compose/secret.sh:", "is mounted and not there"},
		{server, "readOnlyRootFilesystem: true", "readonlyRootFilesystem: true", "readonlyRootFilesystem"},
		{server, "runAsNonRoot: true", "runAsNonRoot: false", "it may run as root"},
		{server, "targetPort: https", "targetPort: http", `leads to the port "http"`},
		{server, "minAvailable: 1", "minAvailable: 2", "lets no node be drained"},
		{server, "secretName: teammem-server", "secretName: teammem-servre", "there is no secret teammem-servre"},
		{server, "claimName: teammem-redactions", "claimName: x", "there is no claim x"},
		{server, "livenessProbe:", "startupprobe:", "startupprobe"},
		{"deploy/kubernetes/secret.example.yaml", `database: ""`, "database: postgres://a:b@c/d", "has a value for database"},
		{"deploy/kubernetes/kustomization.yaml", "  - network.yaml\n", "", "does not list network.yaml"},
		{"deploy/kubernetes/config.yaml", "kind: ConfigMap", "kind: ConfigMaps", "does not know v1 ConfigMaps"},
		{plist, "<key>Label</key>", "<key>Labels</key>", "Label is"},
		{plist, "<true/>", "<key>x</key>", "has no value"},
		{plist, "</dict>\n</plist>", "</plist>", "XML"},
	} {
		found := strings.Join(all(plant(t, c.file, c.from, c.to)), "\n")
		if !strings.Contains(found, c.want) {
			t.Errorf("%s with %q: found %q, want %q in it", c.file, c.to, found, c.want)
		}
	}
}
