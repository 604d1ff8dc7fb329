package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkScan scans the same files with the client and with gitleaks' own binary,
// built from its module without tags, each with one thread, in turns. What counts is
// processor time, and that the client finds all that gitleaks finds of the rules that
// stock clients always have.
func BenchmarkScan(b *testing.B) {
	leaks := gitleaks(b)
	b.Run("corpus", func(b *testing.B) { compareScans(b, leaks, corpusDir(b), 5) })
	size := 50
	if named := os.Getenv("TEAMMEM_BENCH_SCAN_MB"); named != "" { // the peer takes minutes for 50 on a busy machine
		var err error
		if size, err = strconv.Atoi(named); err != nil {
			b.Fatal(err)
		}
	}
	b.Run(fmt.Sprintf("%dMB", size), func(b *testing.B) { compareScans(b, leaks, manyNotes(b, size<<20), 2) })
}

// gitleaks builds the peer at the version of the rules that the product uses.
func gitleaks(b *testing.B) string {
	b.Helper()
	version, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "github.com/zricethezav/gitleaks/v8").Output()
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	build := exec.Command("go", "install", "github.com/zricethezav/gitleaks/v8@"+strings.TrimSpace(string(version)))
	build.Dir, build.Env = dir, append(os.Environ(), "GOBIN="+dir, "CGO_ENABLED=0", "GOFLAGS=")
	if said, err := build.CombinedOutput(); err != nil {
		b.Skipf("gitleaks cannot be built: %v: %s", err, said)
	}
	return filepath.Join(dir, "gitleaks")
}

func corpusDir(b *testing.B) string {
	b.Helper()
	dir := os.Getenv("TEAMMEM_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "corpus")
	}
	dir, err := filepath.Abs(filepath.Join(dir, "open"))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		b.Skipf("no corpus of real memories: %v", err)
	}
	return dir
}

// found is a place where a secret was found.
type found struct {
	file string
	line int
}

func compareScans(b *testing.B, leaks, dir string, rounds int) {
	b.Helper()
	size := sizeOf(b, dir)
	var theirs, ours []round
	for range rounds {
		peer, cpu := theirScan(b, leaks, dir)
		theirs = append(theirs, round{rate: size / cpu})
		product, cpu := ourScan(b, dir)
		ours = append(ours, round{rate: size / cpu})
		missed := 0
		for at, rule := range peer {
			if !product[at] {
				missed++
				b.Logf("%s in line %d of %s is found by gitleaks alone", rule, at.line, at.file)
			}
		}
		if missed > 0 {
			b.Errorf("%d of %d findings of gitleaks are not found", missed, len(peer))
		}
	}
	for range b.N { // the turns above are the work, whatever N is
	}
	compare(b, 8, theirs, ours)
}

// stockFamilies are how the rules begin that stock clients always have.
var stockFamilies = []string{
	"aws-access", "gcp-", "azure-", "digitalocean-", "anthropic-", "openai-", "huggingface-", "github-", "gitlab-", "slack-",
	"twilio-", "sendgrid-", "npm-", "pypi-", "databricks-", "hashicorp-tf-api", "pulumi-", "postman-", "grafana-", "sentry-",
	"stripe-", "shopify-", "private-key",
}

func ofFamilies(rule string) bool {
	for _, family := range stockFamilies {
		if strings.HasPrefix(rule, family) {
			return true
		}
	}
	return false
}

// theirScan gives what gitleaks found of the families, and the processor time it took.
func theirScan(b *testing.B, leaks, dir string) (places map[found]string, seconds float64) {
	b.Helper()
	report := filepath.Join(b.TempDir(), "report.json")
	seconds = oneThread(b, exec.Command(leaks, "dir", dir, "--no-banner", "--ignore-gitleaks-allow", "--exit-code", "0",
		"--log-level", "error", "--report-format", "json", "--report-path", report), nil)
	content, err := os.ReadFile(report)
	if err != nil {
		b.Fatal(err)
	}
	var all []struct {
		RuleID, File string
		StartLine    int
	}
	if err := json.Unmarshal(content, &all); err != nil {
		b.Fatal(err)
	}
	places = map[found]string{}
	for _, f := range all {
		if ofFamilies(f.RuleID) {
			places[found{f.File, f.StartLine}] = f.RuleID
		}
	}
	return places, seconds
}

// ourScan gives the lines on which the client found a secret, and its processor time.
func ourScan(b *testing.B, dir string) (places map[found]bool, seconds float64) {
	b.Helper()
	var out strings.Builder
	command := exec.Command(program(b, "client"), "secrets", dir, "--json", "--dir", b.TempDir())
	command.Env = append(os.Environ(), "HOME="+b.TempDir(), "XDG_STATE_HOME="+b.TempDir(), "XDG_CONFIG_HOME="+b.TempDir())
	seconds = oneThread(b, command, &out)
	var report struct {
		Findings []struct {
			File, Class   string
			Line, EndLine int
		}
	}
	if err := json.Unmarshal([]byte(out.String()), &report); err != nil {
		b.Fatal(err)
	}
	places = map[found]bool{}
	for _, f := range report.Findings {
		for line := f.Line; f.Class == "secret" && line <= f.EndLine; line++ {
			places[found{f.File, line}] = true
		}
	}
	return places, seconds
}

// oneThread runs a program with one thread for its own code and gives its processor
// time. What it finds makes it fail with a status of its own, which is no fault.
func oneThread(b *testing.B, command *exec.Cmd, out *strings.Builder) float64 {
	b.Helper()
	if command.Env == nil {
		command.Env = os.Environ()
	}
	command.Env = append(command.Env, "GOMAXPROCS=1")
	if out != nil {
		command.Stdout = out
	}
	var exit *exec.ExitError
	if err := command.Run(); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 5) {
		b.Fatalf("%s: %v", command.Path, err)
	}
	return (command.ProcessState.UserTime() + command.ProcessState.SystemTime()).Seconds()
}

// sizeOf is the size of all files below a directory, in MB.
func sizeOf(b *testing.B, dir string) (size float64) {
	b.Helper()
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += float64(info.Size()) / 1e6
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return size
}

// manyNotes writes about n bytes of notes as developers keep them, full of words such
// as key and token, with a secret in every fortieth file.
func manyNotes(b *testing.B, n int) string {
	b.Helper()
	dir := b.TempDir()
	rng := rand.New(rand.NewPCG(4, 2))
	for total, file := 0, 0; total < n; file++ {
		var text strings.Builder
		fmt.Fprintf(&text, "---\nname: note-%d\ndescription: %s\ntype: project\n---\n\n# %s\n", file, noteWords(rng, 9), noteWords(rng, 3))
		for range 20 + rng.IntN(60) {
			text.WriteString(noteLine(rng))
		}
		if file%40 == 20 {
			text.WriteString("\nIt is `" + plantedSecret(rng) + "` for now.\n")
		}
		path := filepath.Join(dir, fmt.Sprintf("repo%02d", file%50), fmt.Sprintf("note-%d.md", file))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text.String()), 0o600)); err != nil {
			b.Fatal(err)
		}
		total += text.Len()
	}
	return dir
}

var noteVocabulary = strings.Fields(`the a of to and in is for on that with as it by this be are from at or when not must
	should never always we use server client token key keys access authentication author api endpoint secret password
	credential file files test tests build run deploy branch commit merge review release staging production database
	migration schema query index cache queue worker retry timeout error log metric dashboard config environment
	variable default value path directory package module function method handler router middleware request response
	header cookie session user role permission policy docker compose terraform kubernetes github gitlab slack stripe
	sentry datadog curl task risk asked scan risky skip they prefix linear travis discord monkey keyboard primary`)

func noteWords(rng *rand.Rand, n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = noteVocabulary[rng.IntN(len(noteVocabulary))]
	}
	return strings.Join(words, " ")
}

func noteLine(rng *rand.Rand) string {
	switch rng.IntN(8) {
	case 0:
		return fmt.Sprintf("- **%s**: %s, see `%s/%s.go:%d`\n", noteWords(rng, 2), noteWords(rng, 8), noteWords(rng, 1), noteWords(rng, 1), rng.IntN(900))
	case 1:
		return fmt.Sprintf("| %s | `%s` | %s |\n", noteWords(rng, 2), noteWords(rng, 1), noteWords(rng, 5))
	case 2:
		return fmt.Sprintf("\nFixed in commit %s, checksum sha256:%s.\n", tail(rng, hexDigits, 12), tail(rng, hexDigits, 64))
	case 3:
		return fmt.Sprintf("\nSee [%s](https://github.com/%s/%s/issues/%d)\n", noteWords(rng, 3), noteWords(rng, 1), noteWords(rng, 1), rng.IntN(9999))
	}
	return "\n" + noteWords(rng, 20+rng.IntN(40)) + ".\n"
}

const (
	hexDigits = "0123456789abcdef"
	upper32   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	letters62 = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
)

func tail(rng *rand.Rand, set string, n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = set[rng.IntN(len(set))]
	}
	return string(text)
}

// plantedSecret is one of the forms of the families, with a random tail.
func plantedSecret(rng *rand.Rand) string {
	forms := []struct {
		prefix, set string
		n           int
	}{
		{"ghp_", letters62, 36},
		{"AKIA", upper32, 16},
		{"glpat-", letters62, 20},
		{"npm_", strings.ToLower(letters62[:26]) + "0123456789", 36},
		{"sk-ant-api03-", letters62, 93},
		{"dop_v1_", hexDigits, 64},
		{"hf_", letters62[:52], 34},
		{"SK", hexDigits, 32},
		{"shpat_", hexDigits, 32},
		{"sk_live_", letters62, 30},
		{"AIza", letters62, 35},
		{"pul-", hexDigits, 40},
		{"dapi", hexDigits, 32},
		{"xoxb-123456789012-1234567890123-", letters62, 24},
		{"glsa_", letters62, 32},
	}
	f := forms[rng.IntN(len(forms))]
	secret := f.prefix + tail(rng, f.set, f.n)
	switch f.prefix {
	case "sk-ant-api03-":
		secret += "AA"
	case "glsa_":
		secret += "_" + tail(rng, hexDigits, 8)
	}
	return secret
}
