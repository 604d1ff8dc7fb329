package bench

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"
)

// round is what one turn of a peer or the product came to.
type round struct {
	rate float64 // operations a second
	cpu  float64 // seconds of its process's processor time an operation; 0: not known
}

// turns lets peer and product take turns, after one unmeasured turn each, and
// gives what each turn came to.
func turns(b *testing.B, rounds int, peer, product func() round) (theirs, ours []round) {
	b.Helper()
	peer()
	product()
	for n := range rounds {
		if n%2 == 0 {
			theirs = append(theirs, peer())
			ours = append(ours, product())
		} else {
			ours = append(ours, product())
			theirs = append(theirs, peer())
		}
	}
	return theirs, ours
}

// compare reports the figure that rates are compared by: how much of the peer's
// rate the product reaches.
func compare(b *testing.B, target float64, theirs, ours []round) {
	b.Helper()
	ratios, costs, own := make([]float64, len(ours)), make([]float64, len(ours)), make([]float64, len(ours))
	for i := range ours {
		ratios[i], own[i] = ours[i].rate/theirs[i].rate, ours[i].cpu*1e3
		if theirs[i].cpu > 0 {
			costs[i] = ours[i].cpu / theirs[i].cpu
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(ratios), "of-peer")
	b.ReportMetric(target, "target")
	b.ReportMetric(median(rates(ours)), "product/s")
	b.ReportMetric(median(rates(theirs)), "peer/s")
	line := fmt.Sprintf("%s: %.2f of the peer (%.2f to %.2f), at least %.2f wanted; %.0f/s against %.0f/s",
		b.Name(), median(ratios), slices.Min(ratios), slices.Max(ratios), target, median(rates(ours)), median(rates(theirs)))
	if each := median(own); each > 0 {
		b.ReportMetric(each, "product-cpu-ms")
		line += fmt.Sprintf("; %.2f ms of processor time each", each)
	}
	if cost := median(costs); cost > 0 {
		b.ReportMetric(cost, "x-cpu")
		line += fmt.Sprintf(", %.2f times the peer's", cost)
	}
	b.Log(line + verdict(median(ratios) >= target))
}

// compareTimes reports the figure that times are compared by: how many times as
// long as the peer the product takes.
func compareTimes(b *testing.B, target float64, theirs, ours []time.Duration) {
	b.Helper()
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = float64(ours[i]) / float64(theirs[i])
	}
	slices.Sort(ratios)
	times := float64(median(ours)) / float64(median(theirs))
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(times, "x-peer")
	b.ReportMetric(target, "target")
	b.ReportMetric(median(ours).Seconds()*1e3, "product-ms")
	b.ReportMetric(median(theirs).Seconds()*1e3, "peer-ms")
	b.Logf("%s: %.2f times the peer (middle half %.2f to %.2f), at most %.2f wanted; %s against %s%s",
		b.Name(), times, ratios[len(ratios)/4], ratios[len(ratios)*3/4], target,
		median(ours).Round(10*time.Microsecond), median(theirs).Round(10*time.Microsecond), verdict(times <= target))
}

func verdict(reached bool) string {
	if reached {
		return ": reached"
	}
	return ": MISSED"
}

func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func rates(rounds []round) []float64 {
	all := make([]float64, len(rounds))
	for i, r := range rounds {
		all[i] = r.rate
	}
	return all
}
