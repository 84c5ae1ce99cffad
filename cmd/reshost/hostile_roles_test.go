package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reshost/reshost/cmd/reshost/internal/builtin"
	"github.com/reshost/reshost/cmd/reshost/internal/config"
)

// Roles that this program plays for TestHostileGuests, as the first argument.
const (
	// roleServer BUILTINS STATE ARGS is reshost with those arguments. It ends when its input does; for each line of it, it
	// gives memory back to the system and prints its resident size in bytes.
	roleServer = "hostile-server"
	// roleClient URL CONTROL RATE DURATION URI… reads the URIs in turn, RATE times a second whether or not earlier reads are
	// answered, asks CONTROL as often, and prints what came of it.
	roleClient = "hostile-client"
	// roleControl is a server that does nothing but answer: what it is late by is the machine's doing. It prints its URL, and
	// ends when its input does.
	roleControl = "hostile-control"
)

func playServer(args []string) int {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer stop()
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			debug.FreeOSMemory()
			fmt.Println(residentSize())
		}
	}()
	env := testEnvironment{config.OS(), args[1], nil}
	a := &app{stdin: strings.NewReader(""), stdout: os.Stdout, stderr: os.Stderr, env: env, builtins: builtin.NewSet(os.DirFS(args[0]))}
	return a.run(ctx, args[2:])
}

func playControl() int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("http://%s/\n", l.Addr())
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `"text"`) }))
	io.Copy(io.Discard, os.Stdin)
	return 0
}

// residentSize is the process's, in bytes; 0 where the system does not say.
func residentSize() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	var kib int64
	fmt.Sscan(rest, &kib)
	return kib << 10
}

// neighbours is what a client saw. Times are in milliseconds, from when a read was due to the end of its answer.
type neighbours struct {
	Reads, Errors int
	First         string // of the errors
	Times         []float64
	Control       []float64 // of a server that does nothing
}

func (n *neighbours) add(o neighbours) {
	n.Reads += o.Reads
	n.Errors += o.Errors
	n.First = cmp.Or(n.First, o.First)
	n.Times = append(n.Times, o.Times...)
	n.Control = append(n.Control, o.Control...)
}

// quantile returns the time within which that share of the requests was answered.
func quantile(times []float64, q float64) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[int(q*float64(len(times)-1))]
}

func playClient(args []string) int {
	rate, err := strconv.Atoi(args[2])
	if err != nil {
		panic(err)
	}
	d, err := time.ParseDuration(args[3])
	if err != nil {
		panic(err)
	}
	url, control, uris := args[0], args[1], args[4:]
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}, Timeout: 30 * time.Second}
	var (
		mu    sync.Mutex // guards n
		n     neighbours
		wg    sync.WaitGroup
		begin = time.Now()
	)
	for i := range int(d.Seconds() * float64(rate)) {
		due := begin.Add(time.Duration(i) * time.Second / time.Duration(rate))
		time.Sleep(time.Until(due))
		ask := func(url, uri string, times *[]float64) {
			body, err := post(client, url, "resources/read", `"uri":"`+uri+`",`)
			took := time.Since(due)
			mu.Lock()
			defer mu.Unlock()
			*times = append(*times, took.Seconds()*1000)
			if err != nil || !strings.Contains(body, `"text"`) {
				n.Errors++
				n.First = fmt.Sprint(err, " ", body)
			}
		}
		n.Reads++
		wg.Go(func() { ask(url, uris[i%len(uris)], &n.Times) })
		wg.Go(func() { ask(control, "", &n.Control) })
	}
	wg.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(n); err != nil {
		return 1
	}
	return 0
}
