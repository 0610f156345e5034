// SPDX-License-Identifier: BSD-2-Clause

package stdlib

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"io"
	"math/big"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"
)

var soak = flag.Duration("soak", 0, "how long TestSoak uses the server, after 96 connections")

// TestSoak connects 8 clients at a time to a TLS server that echoes, and compares all bytes. At the
// end no goroutine is left, and the heap is as large as after the first 96 connections.
func TestSoak(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	server := listen(t, func(connection net.Conn) { _, _ = io.Copy(connection, connection) })
	goroutines := runtime.NumGoroutine()
	number := 0
	for range 12 {
		echo8(t, server, seed, &number)
	}
	heap := liveHeap()
	for begin := time.Now(); time.Since(begin) < *soak && !t.Failed(); {
		echo8(t, server, seed, &number)
	}
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > goroutines; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines became %d", goroutines, runtime.NumGoroutine())
		}
	}
	end := liveHeap()
	t.Logf("%d connections; the heap had %d KiB, and now %d", number, heap>>10, end>>10)
	if end > heap+heap/4+1<<20 {
		t.Error("the heap has grown")
	}
}

// liveHeap returns the size of what is in use. The first cycles empty pools and run finalizers.
func liveHeap() uint64 {
	var stats runtime.MemStats
	for range 4 {
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// serverConfig returns a configuration with a new certificate.
func serverConfig(t testing.TB) *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(48 * time.Hour)}
	certificate, err := x509.CreateCertificate(cryptorand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}}
}

// listen starts a server for the time of the test, which calls serve with each connection.
func listen(t testing.TB, serve func(connection net.Conn)) net.Listener {
	server, err := tls.Listen("tcp", "127.0.0.1:0", serverConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		for {
			connection, err := server.Accept()
			if err != nil {
				return // closed
			}
			go func() {
				defer connection.Close()
				serve(connection)
			}()
		}
	}()
	return server
}

func echo8(t *testing.T, server net.Listener, seed uint64, number *int) {
	var clients sync.WaitGroup
	for range 8 {
		*number++
		r := rand.New(rand.NewPCG(seed, uint64(*number)))
		clients.Add(1)
		go func() {
			defer clients.Done()
			echo(t, server.Addr().String(), r)
		}()
	}
	clients.Wait()
}

// echo sends messages of random lengths over a connection with one of Go's suites of AES-GCM.
func echo(t *testing.T, address string, r *rand.Rand) {
	suite := []uint16{tls.TLS_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}[r.IntN(3)]
	config := &tls.Config{InsecureSkipVerify: true, CipherSuites: []uint16{suite}}
	if suite != tls.TLS_AES_128_GCM_SHA256 { // those of TLS 1.3 cannot be chosen
		config.MaxVersion = tls.VersionTLS12
	}
	connection, err := tls.Dial("tcp", address, config)
	if err != nil {
		t.Error(err)
		return
	}
	defer connection.Close()
	for range r.IntN(20) {
		message := make([]byte, 1+r.IntN(1<<r.IntN(18)))
		for i := range message {
			message[i] = byte(r.Uint32())
		}
		sent := make(chan error, 1)
		go func() {
			_, err := connection.Write(message)
			sent <- err
		}()
		back := make([]byte, len(message))
		_, err := io.ReadFull(connection, back)
		if err := <-sent; err != nil {
			t.Error(err)
			return
		}
		if err != nil || !bytes.Equal(back, message) {
			t.Errorf("%d bytes with %s come back changed: %v", len(message), tls.CipherSuiteName(suite), err)
			return
		}
	}
	if used := connection.ConnectionState().CipherSuite; used != suite {
		t.Errorf("the suite is %s, not %s", tls.CipherSuiteName(used), tls.CipherSuiteName(suite))
	}
}
