package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// compose loads docker-compose.yml as Compose does, which checks it by its schema, and
// then holds each service against our own rules.
func compose(ctx context.Context, root string) []string {
	file := filepath.Join(root, "docker-compose.yml")
	content, err := os.ReadFile(file)
	if err != nil {
		return []string{err.Error()}
	}
	details := types.ConfigDetails{
		WorkingDir:  root,
		ConfigFiles: []types.ConfigFile{{Filename: file, Content: content}},
		Environment: types.Mapping{},
	}
	project, err := loader.LoadWithContext(ctx, details, func(o *loader.Options) { o.SetProjectName("teammem", false) })
	if err != nil {
		return []string{"docker-compose.yml: " + err.Error()}
	}
	var problems []string
	for _, name := range project.ServiceNames() {
		service := project.Services[name]
		for _, text := range serviceProblems(service, project) {
			problems = append(problems, fmt.Sprintf("docker-compose.yml: %s: %s", name, text))
		}
	}
	for _, want := range []string{"server", "postgres", "provider", "prometheus", "grafana", "secrets"} {
		if !slices.Contains(project.ServiceNames(), want) {
			problems = append(problems, "docker-compose.yml: there is no service "+want)
		}
	}
	return problems
}

func serviceProblems(s types.ServiceConfig, project *types.Project) (problems []string) {
	expect := func(holds bool, text string, args ...any) {
		if !holds {
			problems = append(problems, fmt.Sprintf(text, args...))
		}
	}
	oneShot := s.Restart == "no"
	expect(oneShot || s.Restart == "unless-stopped", "restart is %q", s.Restart)
	expect(s.ReadOnly, "its root can be written to")
	expect(slices.Equal(s.CapDrop, []string{"ALL"}) && len(s.CapAdd) == 0 && !s.Privileged, "it keeps capabilities")
	expect(slices.Contains(s.SecurityOpt, "no-new-privileges:true"), "it may gain privileges")
	expect(s.HealthCheck != nil || s.Build != nil || oneShot, "it has no health check")
	expect(s.User != "" || s.Build != nil || oneShot, "it runs as whoever its image says")
	expect(s.User != "root" && !strings.HasPrefix(s.User, "0"), "it runs as root")
	limited := s.Deploy != nil && s.Deploy.Resources.Limits != nil &&
		s.Deploy.Resources.Limits.MemoryBytes > 0 && s.Deploy.Resources.Limits.NanoCPUs > 0
	expect(limited, "it has no limits of memory and processors")
	for _, port := range s.Ports {
		expect(port.HostIP == "127.0.0.1", "port %s is published on %q", port.Published, port.HostIP)
	}
	for _, volume := range s.Volumes {
		if volume.Type == types.VolumeTypeBind {
			_, err := os.Stat(volume.Source)
			expect(err == nil, "%s is mounted and not there", volume.Source)
			expect(volume.ReadOnly, "%s can be written to from inside", volume.Source)
		}
	}
	for _, name := range sortedNames(s.Environment) {
		value := s.Environment[name]
		if value != nil && *value != "" && looksSecret(name) && !strings.HasSuffix(name, "_FILE") {
			problems = append(problems, "the secret "+name+" stands in the file")
		}
	}
	if s.Build == nil {
		_, tag, ok := strings.Cut(s.Image, ":")
		expect(ok && tag != "latest", "the image %s has no version", s.Image)
	} else {
		_, err := os.Stat(filepath.Join(s.Build.Context, "Dockerfile"))
		expect(err == nil, "there is no Dockerfile to build it from")
	}
	first, _, nested := strings.Cut(s.Image, "/")
	expect(!nested || !strings.ContainsAny(first, ".:"), "the image %s names a registry", s.Image)
	for other := range s.DependsOn {
		on := project.Services[other]
		if s.DependsOn[other].Condition == types.ServiceConditionHealthy {
			expect(on.HealthCheck != nil || on.Build != nil, "it waits for %s to be healthy, which has no health check", other)
		}
	}
	return problems
}

func sortedNames(m types.MappingWithEquals) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func looksSecret(name string) bool {
	for _, word := range []string{"PASSWORD", "SECRET", "TOKEN", "DATABASE"} {
		if strings.Contains(strings.ToUpper(name), word) {
			return true
		}
	}
	return false
}
