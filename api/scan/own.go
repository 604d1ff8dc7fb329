package scan

// ownRules are for what gitleaks misses. Each says why it is here.
func ownRules() []*rule {
	rules := []*rule{
		{
			id: "url-password", class: Secret, severity: High,
			reason:  "A password in a URL; gitleaks has no rule for postgres://user:pass@ and its like.",
			pattern: "://[^\\s/?#@:\"'<>`|()]{0,128}:([^\\s/?#@\"'<>`|]{3,256})@[0-9A-Za-z\\[._-]",
			values:  valueRule{unlessTemplate: true, unlessNumber: true, unlessUser: true, words: placeholderWords},
		},
		{
			id: "teammem-token", class: Secret, severity: High,
			reason:  "A token of ours opens the whole memory of an organization.",
			pattern: `\b(tm_[0-9A-Za-z_-]{20,200})`,
			entropy: 3, values: valueRule{unlessName: true, words: placeholderWords},
		},
		{
			id: "private-key-begun", class: Secret, severity: High,
			reason:  "A private key whose end is cut off is a private key all the same.",
			pattern: `-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----[\s\S]{0,200}?[0-9A-Za-z+/]{40}[0-9A-Za-z+/=]*(?:[\s>|]{1,16}[0-9A-Za-z+/=]{16,})*`,
			whole:   true, long: true,
		},
		{
			id: "private-key-putty", class: Secret, severity: High,
			reason:  "PuTTY writes private keys without the usual armour.",
			pattern: `Private-Lines: {0,3}\d{1,4}\s{1,8}[0-9A-Za-z+/]{40}[\s0-9A-Za-z+/=]*`,
			whole:   true, long: true,
		},
		{
			id: "private-key-bare", class: Secret, severity: High,
			reason:  "A PKCS #8 private key without its armour still begins in one way.",
			pattern: `\bMI[GIHM][0-9A-Za-z+/]{1,6}BADANBgkqhkiG9w0BAQEFAASC[0-9A-Za-z+/]{64}[0-9A-Za-z+/=]*(?:[\s>|]{1,16}[0-9A-Za-z+/=]{16,})*`,
			whole:   true, long: true, keywords: []string{"badanbgkqhkig9w0baqefaasc"},
		},
		{
			id: "private-key-file", class: SecretGeneric, severity: Medium,
			reason:  "gitleaks' rule on paths: a file of this kind holds a private key.",
			pattern: `[0-9A-Za-z_-]\.(?:p12|pfx)\b`, values: valueRule{keyOnly: true},
		},
		{
			id: "aws-secret-access-key", class: Secret, severity: High,
			reason:  "gitleaks leaves the secret half of an AWS key pair to its generic rule.",
			pattern: `(?i)aws_?(?:secret)?_?(?:access)?_?(?:secret|key)(?:_?id)?["'` + "`" + `]?[ \t]{0,3}(?:=|:|=>|,)[ \t]{0,3}["'` + "`" + `]?((?-i:[0-9A-Za-z/+]{40}))(?:[^0-9A-Za-z/+=]|$)`,
			entropy: 4, values: valueRule{needsDigit: true, words: placeholderWords},
		},
		{
			id: "azure-storage-key", class: Secret, severity: High,
			reason:  "gitleaks has no rule for the keys of Azure's storage and queues.",
			pattern: `(?i)(?:AccountKey|SharedAccessKey)[ \t]{0,3}=[ \t]{0,3}([0-9A-Za-z+/]{42,88}={0,2})`,
			entropy: 4, values: valueRule{needsDigit: true, words: placeholderWords},
		},
		{
			id: "gcp-oauth-client-secret", class: Secret, severity: High,
			reason:  "gitleaks has no rule for Google's OAuth client secrets.",
			pattern: `\b(GOCSPX-[\w-]{28})`, entropy: 3,
		},
		{
			id: "anthropic-token", class: Secret, severity: High,
			reason:  "gitleaks knows two kinds of Anthropic's tokens; there are more.",
			pattern: `\b(sk-ant-[a-z]{2,8}\d{2}-[\w-]{40,200})`, entropy: 3.5,
		},
		{
			id: "openai-token", class: Secret, severity: High,
			reason:  "gitleaks asks for a marker that not every key of OpenAI's has.",
			pattern: `\b(sk-(?:proj|svcacct|admin|None)-[\w-]{40,200})`, entropy: 3.5,
		},
		{
			id: "docker-token", class: Secret, severity: High,
			reason:  "gitleaks has no rule for Docker's access tokens.",
			pattern: `\b(dckr_(?:pat|oat)_[\w-]{24,40})`, entropy: 3,
		},
		{
			id: "sourcegraph-token", class: Secret, severity: High,
			reason:  "The part of gitleaks' rule that has a form of its own.",
			pattern: `\b(sgp_(?:(?:[a-fA-F0-9]{16}|local)_)?[a-fA-F0-9]{40})\b`, entropy: 3,
		},
		{
			id: "slack-cookie", class: Secret, severity: High,
			reason:  "gitleaks has no rule for the session tokens of Slack's web client.",
			pattern: `\b(xox[cd]-[0-9A-Za-z%/+=-]{24,400})`, entropy: 3,
		},
		{
			id: "password", class: SecretGeneric, severity: Medium, loose: true,
			reason: "A password in prose or a setting. Often an example, so a warning.",
			pattern: `(?i)(?:pass(?:word|wd|phrase|code)?|pwd|kennwort|passwort)` +
				"(?:[\"'`*]{0,3}[ \\t]{0,3}(?:=|:|=>|:=)|[\"'`*]{0,3}[ \\t]{1,3}(?:is|was|ist|=):?)[\"'`*]{0,3}[ \\t]{0,3}[\"'`*]{0,3}([^\\s\"'`,;*]{8,128})",
			values: valueRule{unlessTemplate: true, unlessIdentifier: true, likePassword: true, words: placeholderWords},
		},
	}
	for _, r := range rules {
		if r.values.allow == nil {
			r.values.allow = sampleValues
		}
	}
	return rules
}
