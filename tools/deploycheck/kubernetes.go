package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// cluster is what the manifests make, by kind and name.
type cluster struct {
	deployments map[string]*appsv1.Deployment
	jobs        map[string]*batchv1.Job
	services    map[string]*corev1.Service
	configs     map[string]*corev1.ConfigMap
	secrets     map[string]*corev1.Secret
	accounts    map[string]*corev1.ServiceAccount
	budgets     map[string]*policyv1.PodDisruptionBudget
	policies    map[string]*networkingv1.NetworkPolicy
	namespaces  map[string]*corev1.Namespace
	claims      map[string]*corev1.PersistentVolumeClaim
}

// kustomization has the fields of a kustomization.yaml that we use.
type kustomization struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Namespace  string   `json:"namespace"`
	Resources  []string `json:"resources"`
	Images     []struct {
		Name    string `json:"name"`
		NewName string `json:"newName"`
		NewTag  string `json:"newTag"`
	} `json:"images"`
}

func kubernetes(root string) []string {
	dir := filepath.Join(root, "deploy", "kubernetes")
	var k kustomization
	content, err := os.ReadFile(filepath.Join(dir, "kustomization.yaml"))
	if err != nil {
		return []string{err.Error()}
	}
	if err := yaml.UnmarshalStrict(content, &k); err != nil {
		return []string{"kustomization.yaml: " + err.Error()}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	c := newCluster()
	for _, file := range files {
		name := filepath.Base(file)
		if name == "kustomization.yaml" {
			continue
		}
		// The example of a secret is to be copied and filled in, not applied.
		if !slices.Contains(k.Resources, name) && !strings.HasSuffix(name, ".example.yaml") {
			problems = append(problems, "kustomization.yaml does not list "+name)
		}
		for _, err := range c.read(file, k.Namespace) {
			problems = append(problems, "deploy/kubernetes/"+name+": "+err.Error())
		}
	}
	for _, name := range k.Resources {
		if !slices.Contains(files, filepath.Join(dir, name)) {
			problems = append(problems, "kustomization.yaml lists "+name+", which is not there")
		}
	}
	if c.namespaces[k.Namespace] == nil {
		problems = append(problems, "there is no namespace "+k.Namespace)
	}
	for _, text := range c.problems() {
		problems = append(problems, "deploy/kubernetes: "+text)
	}
	return problems
}

func newCluster() *cluster {
	return &cluster{
		map[string]*appsv1.Deployment{},
		map[string]*batchv1.Job{},
		map[string]*corev1.Service{},
		map[string]*corev1.ConfigMap{},
		map[string]*corev1.Secret{},
		map[string]*corev1.ServiceAccount{},
		map[string]*policyv1.PodDisruptionBudget{},
		map[string]*networkingv1.NetworkPolicy{},
		map[string]*corev1.Namespace{},
		map[string]*corev1.PersistentVolumeClaim{},
	}
}

// read decodes the documents of one file into Kubernetes' own types. A field that they
// do not have is an error.
func (c *cluster) read(file, namespace string) (errs []error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return []error{err}
	}
	documents := yamlv3.NewDecoder(bytes.NewReader(content))
	for {
		var document yamlv3.Node
		if err := documents.Decode(&document); errors.Is(err, io.EOF) {
			return errs
		} else if err != nil {
			return append(errs, err)
		}
		text, err := yamlv3.Marshal(&document)
		if err != nil {
			return append(errs, err)
		}
		var head struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Name      string `json:"name"`
				Namespace string `json:"namespace"`
			} `json:"metadata"`
		}
		if err := yaml.Unmarshal(text, &head); err != nil {
			return append(errs, err)
		}
		if head.Metadata.Namespace != "" && head.Metadata.Namespace != namespace {
			errs = append(errs, fmt.Errorf("%s is in the namespace %s", head.Metadata.Name, head.Metadata.Namespace))
		}
		if err := c.take(head.APIVersion+" "+head.Kind, head.Metadata.Name, text); err != nil {
			errs = append(errs, err)
		}
	}
}

func (c *cluster) take(kind, name string, text []byte) error {
	if name == "" {
		return fmt.Errorf("a %s has no name", kind)
	}
	switch kind {
	case "v1 Namespace":
		return decode(text, name, c.namespaces)
	case "v1 PersistentVolumeClaim":
		return decode(text, name, c.claims)
	case "v1 Service":
		return decode(text, name, c.services)
	case "v1 ConfigMap":
		return decode(text, name, c.configs)
	case "v1 Secret":
		return decode(text, name, c.secrets)
	case "v1 ServiceAccount":
		return decode(text, name, c.accounts)
	case "apps/v1 Deployment":
		return decode(text, name, c.deployments)
	case "batch/v1 Job":
		return decode(text, name, c.jobs)
	case "policy/v1 PodDisruptionBudget":
		return decode(text, name, c.budgets)
	case "networking.k8s.io/v1 NetworkPolicy":
		return decode(text, name, c.policies)
	}
	return fmt.Errorf("deploycheck does not know %s; teach it", kind)
}

func decode[T any](text []byte, name string, into map[string]*T) error {
	value := new(T)
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	// As the API server decodes with strict validation: names of fields differ by case.
	slips, err := json.UnmarshalStrict(asJSON, value)
	if err := errors.Join(append(slips, err)...); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if into[name] != nil {
		return fmt.Errorf("%s stands twice", name)
	}
	into[name] = value
	return nil
}

// problems holds what the manifests make against each other and against our rules.
func (c *cluster) problems() (problems []string) {
	for name, secret := range c.secrets {
		for key, value := range secret.StringData {
			if value != "" {
				problems = append(problems, fmt.Sprintf("the secret %s has a value for %s", name, key))
			}
		}
		if len(secret.Data) > 0 {
			problems = append(problems, "the secret "+name+" has values")
		}
	}
	for name, d := range c.deployments {
		pod := d.Spec.Template
		if selector := d.Spec.Selector; selector == nil || !labels.SelectorFromSet(selector.MatchLabels).Matches(labels.Set(pod.Labels)) {
			problems = append(problems, name+" does not select its own pods")
		}
		problems = append(problems, c.podProblems(name, pod.Spec)...)
		for _, container := range pod.Spec.Containers {
			if container.ReadinessProbe == nil || container.LivenessProbe == nil {
				problems = append(problems, name+": "+container.Name+" has not both probes")
			}
		}
		problems = append(problems, c.reached(name, d)...)
	}
	for name, j := range c.jobs {
		problems = append(problems, c.podProblems(name, j.Spec.Template.Spec)...)
		if p := j.Spec.Template.Spec.RestartPolicy; p != corev1.RestartPolicyNever && p != corev1.RestartPolicyOnFailure {
			problems = append(problems, fmt.Sprintf("%s: restartPolicy is %q", name, p))
		}
	}
	if len(c.deployments) == 0 || len(c.jobs) == 0 {
		problems = append(problems, "there is no deployment, or no job that migrates")
	}
	slices.Sort(problems)
	return problems
}

// reached checks that services lead to the deployment, and that a budget leaves room.
func (c *cluster) reached(name string, d *appsv1.Deployment) (problems []string) {
	set := labels.Set(d.Spec.Template.Labels)
	ports := map[string]bool{}
	for _, container := range d.Spec.Template.Spec.Containers {
		for _, port := range container.Ports {
			ports[port.Name] = true
		}
		for _, probe := range []*corev1.Probe{container.ReadinessProbe, container.LivenessProbe, container.StartupProbe} {
			if probe != nil && probe.HTTPGet != nil && !ports[probe.HTTPGet.Port.StrVal] {
				problems = append(problems, fmt.Sprintf("%s: a probe asks the port %q", name, probe.HTTPGet.Port.StrVal))
			}
		}
	}
	served := false
	for service, s := range c.services {
		if !labels.SelectorFromSet(s.Spec.Selector).Matches(set) {
			continue
		}
		served = true
		for _, port := range s.Spec.Ports {
			if !ports[port.TargetPort.StrVal] {
				problems = append(problems, fmt.Sprintf("the service %s leads to the port %q, which no container has", service, port.TargetPort.StrVal))
			}
		}
	}
	if !served {
		problems = append(problems, "no service leads to "+name)
	}
	guarded := false
	for budget, b := range c.budgets {
		if b.Spec.Selector == nil || !labels.SelectorFromSet(b.Spec.Selector.MatchLabels).Matches(set) {
			continue
		}
		guarded = true
		if least := b.Spec.MinAvailable; least != nil && d.Spec.Replicas != nil && least.IntValue() >= int(*d.Spec.Replicas) {
			problems = append(problems, "the budget "+budget+" lets no node be drained")
		}
	}
	if !guarded {
		problems = append(problems, "no budget guards "+name)
	}
	return problems
}

// podProblems checks that a pod can do no more than it needs, and that what it names
// is there.
func (c *cluster) podProblems(name string, pod corev1.PodSpec) (problems []string) {
	expect := func(holds bool, text string, args ...any) {
		if !holds {
			problems = append(problems, name+": "+fmt.Sprintf(text, args...))
		}
	}
	is := func(b *bool, want bool) bool { return b != nil && *b == want }
	sc := pod.SecurityContext
	expect(sc != nil && is(sc.RunAsNonRoot, true) && sc.RunAsUser != nil && *sc.RunAsUser > 0, "it may run as root")
	expect(sc != nil && sc.SeccompProfile != nil && sc.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault, "it has no seccomp profile")
	expect(is(pod.AutomountServiceAccountToken, false), "it is given a token of the cluster")
	expect(pod.ServiceAccountName == "" || c.accounts[pod.ServiceAccountName] != nil, "there is no account %s", pod.ServiceAccountName)
	volumes := map[string]bool{}
	for _, volume := range pod.Volumes {
		volumes[volume.Name] = true
		if volume.Secret != nil {
			expect(c.secrets[volume.Secret.SecretName] != nil || is(volume.Secret.Optional, true) || strings.HasSuffix(volume.Secret.SecretName, "-tls"), "there is no secret %s", volume.Secret.SecretName)
		}
		if claim := volume.PersistentVolumeClaim; claim != nil {
			expect(c.claims[claim.ClaimName] != nil, "there is no claim %s", claim.ClaimName)
		}
		if volume.ConfigMap != nil {
			expect(c.configs[volume.ConfigMap.Name] != nil, "there is no config map %s", volume.ConfigMap.Name)
		}
	}
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		sc := container.SecurityContext
		expect(sc != nil && is(sc.AllowPrivilegeEscalation, false) && is(sc.ReadOnlyRootFilesystem, true), "%s may do more than it needs", container.Name)
		expect(sc != nil && sc.Capabilities != nil && slices.Equal(sc.Capabilities.Drop, []corev1.Capability{"ALL"}) && len(sc.Capabilities.Add) == 0, "%s keeps capabilities", container.Name)
		limits, requests := container.Resources.Limits, container.Resources.Requests
		expect(!limits.Memory().IsZero() && !requests.Memory().IsZero() && !requests.Cpu().IsZero(), "%s has no limits", container.Name)
		for _, mount := range container.VolumeMounts {
			expect(volumes[mount.Name], "%s mounts %s, which is not there", container.Name, mount.Name)
		}
		for _, variable := range container.Env {
			expect(variable.Value == "" || !looksSecret(variable.Name) || strings.HasSuffix(variable.Name, "_FILE"), "the secret %s stands in the manifest", variable.Name)
		}
		for _, from := range container.EnvFrom {
			expect(from.ConfigMapRef == nil || c.configs[from.ConfigMapRef.Name] != nil, "%s reads a config map that is not there", container.Name)
		}
	}
	return problems
}
