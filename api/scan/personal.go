package scan

// personalRules are for what belongs to one machine or person and serves nobody
// else. Advice only.
func personalRules() []*rule {
	const somebody = `(?:\$|<|\{|%|\*|user|username|you|your|me|name|runner|ubuntu|node|app|dev|vscode|shared|public|default|example|linuxbrew|root|git)`
	rules := []*rule{
		{
			id: "home-path", severity: Low,
			reason:  "A path below somebody's home exists on one machine.",
			pattern: `(?i)(?:/home/|/users/|:\\{1,2}users\\{1,2})([0-9a-z][0-9a-z._-]{0,31})`,
		},
		{
			id: "private-address", severity: Low,
			reason:  "An address of a private network means something on one network.",
			pattern: `\b(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}\b`,
		},
		{
			id: "e-mail", severity: Low,
			reason:  "An e-mail address names a person.",
			pattern: `@[0-9A-Za-z][0-9A-Za-z-]{0,62}(?:\.[0-9A-Za-z-]{1,63}){0,4}\.[A-Za-z]{2,24}\b`, values: valueRule{mailbox: true},
		},
	}
	rules[0].values.allow = &allowed{patterns: []string{`(?i)` + somebody + `[._-]?(?:name)?\d{0,2}`}}
	for _, r := range rules {
		r.class, r.whole = Personal, r.id != "home-path"
	}
	return rules
}
