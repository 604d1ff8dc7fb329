package service

import (
	"bytes"
	"encoding/xml"
	"strings"
)

// plist is the service as launchd.plist(5) has it. launchd keeps no journal, so that
// the client is told to write to a file, and to bound it.
func (s Service) plist() []byte {
	var b strings.Builder
	b.WriteString(xml.Header)
	b.WriteString(`<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">` + "\n")
	b.WriteString("<!-- " + mark + " -->\n")
	for _, folder := range s.Made {
		// Two hyphens may not stand in a comment.
		b.WriteString("<!-- " + markMade + strings.ReplaceAll(folder, "-", "&#45;") + " -->\n")
	}
	b.WriteString("<plist version=\"1.0\">\n<dict>\n")
	pair(&b, "Label", "<string>"+text(s.Name())+"</string>")
	b.WriteString("\t<key>ProgramArguments</key>\n\t<array>\n")
	words := append([]string{s.Program}, s.Arguments...)
	if s.LogFile != "" {
		words = append(words, "--log-file", s.LogFile)
	}
	for _, word := range words {
		b.WriteString("\t\t<string>" + text(word) + "</string>\n")
	}
	b.WriteString("\t</array>\n")
	if len(s.Variables) > 0 {
		b.WriteString("\t<key>EnvironmentVariables</key>\n\t<dict>\n")
		for _, variable := range s.Variables {
			name, value, _ := strings.Cut(variable, "=")
			b.WriteString("\t")
			pair(&b, name, "<string>"+text(value)+"</string>")
		}
		b.WriteString("\t</dict>\n")
	}
	if s.WorkDir != "" {
		pair(&b, "WorkingDirectory", "<string>"+text(s.WorkDir)+"</string>")
	}
	pair(&b, "RunAtLoad", "<true/>")
	pair(&b, "KeepAlive", "<true/>")
	pair(&b, "ThrottleInterval", "<integer>30</integer>")
	pair(&b, "ProcessType", "<string>Background</string>")
	pair(&b, "Umask", "<integer>63</integer>") // 0077
	b.WriteString("</dict>\n</plist>\n")
	return []byte(b.String())
}

func pair(b *strings.Builder, key, value string) {
	b.WriteString("\t<key>" + text(key) + "</key>\n\t" + value + "\n")
}

func text(value string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(value)) // a buffer takes everything
	return b.String()
}
