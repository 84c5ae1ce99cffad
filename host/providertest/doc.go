// Package providertest is the conformance kit for providers: what the host relies on, as a test. Tests of providers import it,
// in this repository and outside.
//
//	func TestProvider(t *testing.T) {
//		providertest.Run(t, func(t *testing.T) provider.Provider { return newClock() }, &providertest.Options{
//			URIs: []string{"clock://utc/now"},
//		})
//	}
//
// Each check opens a provider of its own, routes URIs as the host does (normalised, most specific template first, values
// decoded once), and closes it. Run it with -race: one check calls the provider from many goroutines.
//
// # Errors
//
// A check that fails reports one sentence for each fault, with the method, the URI or template, and what the contract in
// package provider asks for.
package providertest
