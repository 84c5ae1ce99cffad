// Package reshosttest runs a plugin natively, so that its logic is tested by plain go test. Plugins' tests import it;
// nothing that is built for the sandbox does.
//
//	func TestGreeting(t *testing.T) {
//		g := reshosttest.New(t, plugin, nil)
//		got, err := g.Read("greet://Ada")
//		if err != nil || got.Text() != "Hello, Ada!" {
//			t.Errorf("read: %v, %v", got, err)
//		}
//	}
//
// [New] runs [reshost.Plugin.Check], packs the manifest and starts the plugin, as a host does; a mistake fails the test
// there. Records are decoded and checked by the rules of the ABI: what a host would reject is an error here.
//
// The stand-in is not a sandbox. Memory is not put back between calls, and of a template's matching it knows the usual
// operators only; the host decides.
//
// # Errors
//
// A call that the plugin fails returns a [*Failure], which has the status and the message. Anything else that a call
// returns is a fault of the plugin against the ABI.
package reshosttest
