package reshost

import (
	"math"
	"testing"
	"time"
)

func TestJSONTime(t *testing.T) {
	for _, millis := range []int64{
		0, 1, 999, 1000, -1, -1000, 951782399999, 951782400000, 951868800000, 4107542399000, 1709164800000, 1709251199999,
		-62135596800000, 253402300799999, -11676096000000,
	} {
		want := `["` + time.UnixMilli(millis).UTC().Format("2006-01-02T15:04:05Z") + `"]`
		var j JSON
		j.BeginArray().Time(millis).EndArray()
		if got := string(j.Bytes()); got != want {
			t.Errorf("%d: got %s, want %s", millis, got, want)
		}
	}
	for millis, want := range map[int64]string{
		math.MinInt64: `"0001-01-01T00:00:00Z"`, math.MaxInt64: `"9999-12-31T23:59:59Z"`,
	} {
		var j JSON
		if got := string(j.Time(millis).Bytes()); got != want {
			t.Errorf("%d: got %s, want %s", millis, got, want)
		}
	}
}
