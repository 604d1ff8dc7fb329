package service

import "strings"

// unit is the service as systemd.service(5) has it. What it forbids is what a user's
// manager can forbid without a namespace of its own, which many systems give to no
// user; the files it works on are the user's and lie anywhere.
func (s Service) unit() []byte {
	var b strings.Builder
	b.WriteString("# " + mark + "\n")
	for _, folder := range s.Made {
		b.WriteString("# " + markMade + folder + "\n")
	}
	b.WriteString("[Unit]\n")
	b.WriteString("Description=Team memory of " + percent(s.Repo) + "\n")
	b.WriteString("Documentation=https://github.com/teammem/teammem\n")
	b.WriteString("StartLimitIntervalSec=0\n")
	b.WriteString("\n[Service]\n")
	b.WriteString("ExecStart=" + quote(s.Program))
	for _, argument := range s.Arguments {
		b.WriteString(" " + strings.ReplaceAll(quote(argument), "$", "$$"))
	}
	b.WriteString("\n")
	for _, variable := range s.Variables {
		b.WriteString("Environment=" + quote(variable) + "\n")
	}
	if s.WorkDir != "" {
		b.WriteString("WorkingDirectory=-" + percent(s.WorkDir) + "\n")
	}
	// A wrong command line is for a person; all else may pass.
	b.WriteString(`Restart=always
RestartSec=30
RestartPreventExitStatus=2
UMask=0077
Nice=5
NoNewPrivileges=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM
MemoryMax=512M

[Install]
WantedBy=default.target
`)
	return []byte(b.String())
}

// quote writes one word of a command line, or one assignment.
func quote(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(word) + `"`
}

// percent keeps specifiers out of a value that takes no quotes.
func percent(value string) string { return strings.ReplaceAll(value, "%", "%%") }
