package scan

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// names gives the rules of findings.
func names(found []Finding) []string {
	var list []string
	for _, f := range found {
		list = append(list, f.Rule)
	}
	return list
}

// TestLookAlikes: what looks like a secret and is none yields nothing that would be
// warned about, held or refused.
func TestLookAlikes(t *testing.T) {
	rng := seeded("look-alikes")
	uuid := hexes(rng, 8) + "-" + hexes(rng, 4) + "-4" + hexes(rng, 3) + "-a" + hexes(rng, 3) + "-" + hexes(rng, 12)
	cases := []struct{ name, text string }{
		{"UUID", "session key: " + uuid + "\n"},
		{"UUID in a field", `originSessionId: ` + uuid + "\ntoken_id = \"" + uuid + "\"\n"},
		{"ULID", "token id: 01" + strings.ToUpper(random(rng, "0123456789abcdefghjkmnpqrstvwxyz", 24)) + "\n"},
		{"commits", "- " + hexes(rng, 40) + " fix auth token\n- " + hexes(rng, 40) + " key = hash\n"},
		{"entity tag", "ETag: \"sha256:" + hexes(rng, 64) + "\"\n"},
		{"npm integrity", "integrity sha512-" + random(rng, alphabet+"+/", 86) + "==\n"},
		{"go.sum", "golang.org/x/text v0.3.0 h1:" + random(rng, alphabet+"+/", 43) + "=\n"},
		{"public key of SSH", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + random(rng, alphabet+"+/", 43) + " dana@box\n"},
		{"stars and dots", "token: ghp_****************\npassword: ********\napi_key: [REDACTED]\nkey: sk-ant-...\n"},
		{"names of variables", "GITHUB_TOKEN, AWS_SECRET_ACCESS_KEY and DATABASE_PASSWORD come from the vault\n"},
		{"a rule", "the rule is `ghp_[0-9a-zA-Z]{36}`\n"},
		{"Kubernetes", "secretKeyRef:\n  name: app-secrets\n  key: db-password\n"},
		{"Terraform", "password = var.db_password\nsecret_key = data.vault.x.data[\"k\"]\n"},
		{"SQL", "password VARCHAR(255) NOT NULL\n"},
		{"version", "key: v1.2.3-rc.4+build.567\n"},
		{"addresses", "access point: 00:1A:2B:3C:4D:5E, auth host: 2001:0db8:85a3:0000:0000:8a2e:0370:7334\n"},
		{"names in code", "accessTokenRefreshIntervalSeconds = 3600\napiKeyHeaderName: X-Api-Key\npassword = hashPassword(user.password, salt16)\n"},
		{"commit", "key commit: " + hexes(rng, 40) + "\n"},
		{"short commit", "the auth change is " + hexes(rng, 12) + "\n"},
		{"digest", "access image sha256:" + hexes(rng, 64) + "\n"},
		{"checksum", "the key's checksum = " + hexes(rng, 64) + "\n"},
		{"AWS sample", "aws_access_key_id = AKIAIOSFODNN7EXAMPLE\n"},
		{"AWS sample secret", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n"},
		{"placeholder token", "export GITHUB_TOKEN=ghp_" + strings.Repeat("x", 36) + "\n"},
		{"alphabet", "token: ghp_1234567890abcdefghijklmnopqrstuvwxyz\n"},
		{"your key here", "api_key = your-api-key-here\nsecret: <your secret>\n"},
		{"variables", "password: ${DB_PASSWORD}\ntoken=$GITHUB_TOKEN\nkey: {{ .Values.key }}\nsecret = os.environ[\"SECRET_1\"]\n"},
		{"secrets of a workflow", "token: ${{ secrets.NPM_TOKEN_2 }}\n"},
		{"URL with variables", "postgres://${USER}:${PASS1}@db/app and postgres://<user>:<password>@host/db\n"},
		{"URL with placeholders", "postgres://user:password@localhost:5432/app, mysql://root:root@db, redis://:changeme@cache\n"},
		{"URL with a port", "http://localhost:8080/@fs and ssh://git@github.com:22/x\n"},
		{"prose", "The password is required. The token is refreshed hourly; the secret: never log it.\nPasswords are hashed.\n"},
		{"password rules", "password: string, at least 8 characters\npassword=hashed_password\nPassword: getPassword(user1)\n"},
		{"dates", "password = 2026-11-30T12:00:00Z\n"},
		{"vendors in prose", "Dropbox, infrastructures and LinkedIn: responsibility, confluent = acknowledgements\n"},
		{"task", "task risk skip asked sketch discuss\n"},
		{"keyboard", "keyboard: mechanical, monkey=business, author: somebody\n"},
		{"public key", "-----BEGIN PUBLIC KEY-----\n" + random(rng, alphabet, 64) + "\n-----END PUBLIC KEY-----\n"},
		{"armour in prose", "a file that begins with `-----BEGIN PRIVATE KEY-----` is a key\n"},
		{"link", "[[password-rotation]] and [api keys](docs/api-keys.md#token-2)\n"},
		{"image data", "![x](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk)\n"},
		{"our prefix in a name", "call tm_open_connection_to_the_server and tm_close\n"},
		{"our prefix", "the prefix tm_ and the test tm_secret_token_placeholder\n"},
	}
	s := newScanner(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, f := range mustScan(t, s, "notes.md", c.text) {
				if f.Class != Personal && f.Class != Instruction {
					t.Errorf("line %d: %s (%s)", f.Line, f.Rule, f.Class)
				}
			}
		})
	}
}

// TestStopWordsCoverTheWholeValue is BR-30: a stop word in the key or in a part of
// the value excuses nothing.
func TestStopWordsCoverTheWholeValue(t *testing.T) {
	rng := seeded("stop words")
	value := func(n int) string { return "7" + random(rng, alphabet, n-2) + "3" }
	cases := []struct {
		name, text string
		class      Class
	}{
		{"word inside of a value", "secret = " + value(28) + "hook" + value(28), SecretGeneric},
		{"client_secret", "client_secret = " + value(32), SecretGeneric},
		{"my_token", "my_token: " + value(32), SecretGeneric},
		{"example_key", "example_key: " + value(32), SecretGeneric},
		{"allow comment", "ghp_" + value(36) + " # gitleaks:allow", Secret},
		{"word at the end of a token", "ghp_" + value(29) + "EXAMPLX", Secret},
		{"pass=", "- pass=" + value(8), SecretGeneric},
		{"the password is", "the password is " + value(12), SecretGeneric},
		{"Das Passwort ist", "Das Passwort ist: " + value(12), SecretGeneric},
		{"bold name", "- **Password**: `" + value(14) + "`", SecretGeneric},
		{"table", "| db password | " + value(14) + " |", SecretGeneric},
		{"postgres", "postgres://app:" + value(12) + "@db.internal:5432/app", Secret},
		{"mongodb", "`mongodb+srv://app:" + value(12) + "@cluster0.abcde.mongodb.net`", Secret},
		{"redis without a user", "redis://:" + value(16) + "@cache:6379", Secret},
		{"basic authentication", "https://deploy:" + value(20) + "@git.internal/x.git", Secret},
		{"percent in a password", "amqp://app:p%40" + value(9) + "@mq:5672", Secret},
		{"our token", "tm_" + value(43), Secret},
		{"our token without a digit", "tm_" + random(rng, "abcdefghijklmnopqrstuvwxyz", 40), Secret},
		{"our token in a header", "Authorization: Bearer tm_" + value(43), Secret},
		{"AWS secret", "AWS_SECRET_ACCESS_KEY=" + value(40), Secret},
		{"Azure storage", "AccountKey=" + value(86) + "==;EndpointSuffix=core.windows.net", Secret},
		{"GCP client secret", "GOCSPX-" + value(28), Secret},
		{"Anthropic", "sk-ant-oat01-" + value(95), Secret},
		{"OpenAI without its marker", "sk-proj-" + value(120), Secret},
	}
	s := newScanner(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			found := mustScan(t, s, "notes.md", c.text+"\n")
			if !slices.ContainsFunc(found, func(f Finding) bool { return f.Class == c.class }) {
				t.Errorf("found %v, want one of class %s", names(found), c.class)
			}
		})
	}
}

// pem makes a private key's armour about random bytes.
func pem(rng *rand.Rand, kind string, lines int) string {
	var b strings.Builder
	b.WriteString("-----BEGIN " + kind + "-----\n")
	for range lines {
		b.WriteString(random(rng, alphabet+"+/", 64) + "\n")
	}
	return b.String() + "-----END " + kind + "-----"
}

// TestPrivateKeys is BR-31 for blocks of many lines, with an end and without.
func TestPrivateKeys(t *testing.T) {
	s := newScanner(t)
	kinds := []string{"PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK"}
	for i, w := range wrappings {
		t.Run(w.name, func(t *testing.T) {
			for _, kind := range []string{kinds[i%len(kinds)], kinds[(i+2)%len(kinds)]} {
				whole := pem(seeded(kind), kind, 20)
				for name, text := range map[string]string{"whole": whole, "cut off": whole[:len(whole)-100]} {
					key, content := w.wrap(text)
					if !finds(t, s, "private-key", key, content) {
						t.Errorf("%s, %s: not found", kind, name)
					}
				}
			}
		})
	}
}

// TestFingerprint: the same value has the same fingerprint wherever and however it
// stands, another value or another key another one, and without a key there is none.
func TestFingerprint(t *testing.T) {
	s := newScanner(t)
	token := "ghp_" + random(seeded("fingerprint"), alphabet, 36)
	prints := func(s *Scanner, text string) string {
		for _, f := range mustScan(t, s, "notes.md", text) {
			if f.Class == Secret {
				return f.Fingerprint
			}
		}
		return "not found"
	}
	want := prints(s, token)
	if len(want) != 2*fingerprintBytes {
		t.Fatalf("fingerprint %q", want)
	}
	for _, w := range wrappings {
		if _, content := w.wrap(token); prints(s, content) != want {
			t.Errorf("%s: fingerprint %s, want %s", w.name, prints(s, content), want)
		}
	}
	if prints(s, strings.Replace(token, token[10:11], "-", 1)+token[20:]) == want {
		t.Error("another value has the same fingerprint")
	}
	other, err := New(Options{FingerprintKey: []byte("another key")})
	if err != nil {
		t.Fatal(err)
	}
	if prints(other, token) == want {
		t.Error("another key gives the same fingerprint")
	}
	keyless, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := prints(keyless, token); got != "" {
		t.Errorf("without a key: fingerprint %s", got)
	}
}

// TestFindingsHoldNoText is BR-34: no eight bytes of a secret are in what a finding
// says, nor in an error.
func TestFindingsHoldNoText(t *testing.T) {
	s := newScanner(t)
	secrets := []string{pem(seeded("x"), "RSA PRIVATE KEY", 12)}
	for _, sample := range samples(t) {
		secrets = append(secrets, sample.text)
	}
	for i, w := range wrappings {
		for k, secret := range secrets {
			if k > 0 && (i+k)%(4*under) > 0 {
				continue // each secret in a share of the wrappings, the private key in all
			}
			key, content := w.wrap(secret)
			found := mustScan(t, s, key, content)
			said, err := json.Marshal(found)
			if err != nil {
				t.Fatal(err)
			}
			value := secret[len(secret)-longestTail(secret):]
			for i := 0; i+8 <= len(value); i++ {
				if window := value[i : i+8]; strings.Contains(string(said), window) && !isRuleText(s, window) {
					t.Fatalf("%s: a finding says %d bytes of the secret", w.name, len(window))
				}
			}
		}
	}
}

// isRuleText: eight letters of a vendor's name are no secret.
func isRuleText(s *Scanner, window string) bool {
	return slices.ContainsFunc(s.Rules(), func(r RuleInfo) bool { return strings.Contains(r.Name, strings.ToLower(window)) })
}

// TestKeysAreScanned: a secret in a file's name, whatever follows it.
func TestKeysAreScanned(t *testing.T) {
	s := newScanner(t)
	token := "AKIA" + random(seeded("key"), "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)
	for _, key := range []string{token + ".md", "old/" + token, "notes-" + token + ".txt", "a_" + token + "_b.md", token + "/x.md"} {
		found := mustScan(t, s, key, "nothing\n")
		if len(found) != 1 || found[0].Line != 0 || found[0].Class != Secret {
			t.Errorf("%s: found %v", strings.Replace(key, token, "TOKEN", 1), names(found))
		}
	}
	if found := mustScan(t, s, "keys/server.p12", "x\n"); !slices.Contains(names(found), "private-key-file") {
		t.Errorf("server.p12: found %v", names(found))
	}
	if found := mustScan(t, s, "notes.md", "see server.p12\n"); len(found) > 0 {
		t.Errorf("a name in prose: found %v", names(found))
	}
}
