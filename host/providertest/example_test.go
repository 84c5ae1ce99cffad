package providertest_test

import (
	"testing"

	"github.com/reshost/reshost/host/memprovider"
	"github.com/reshost/reshost/host/provider"
	"github.com/reshost/reshost/host/providertest"
)

// A provider's test, whole.
func ExampleRun() {
	_ = func(t *testing.T) { // func TestProvider(t *testing.T)
		providertest.Run(t, func(t *testing.T) provider.Provider {
			p, err := memprovider.New("notes", nil)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}, &providertest.Options{Missing: []string{"notes://nothing"}})
	}
}
