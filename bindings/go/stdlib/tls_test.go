// SPDX-License-Identifier: BSD-2-Clause

//go:build unix

package stdlib

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// volume is how many bytes BenchmarkTLS sends at a time.
const volume = 128 << 20

// BenchmarkTLS sends over a connection of this process with itself. It reports the CPU seconds of both
// ends for each GB, user and system. "scripts/go tls" compares them with those without the overlay.
func BenchmarkTLS(b *testing.B) {
	for _, c := range []struct {
		version, suite uint16
		size           int
	}{
		{tls.VersionTLS13, tls.TLS_AES_128_GCM_SHA256, 1350},
		{tls.VersionTLS13, tls.TLS_AES_128_GCM_SHA256, 1 << 20},
		{tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, 1 << 20},
	} {
		b.Run(fmt.Sprintf("%s/%d", tls.CipherSuiteName(c.suite), c.size), func(b *testing.B) {
			received := make(chan error)
			server := listen(b, func(connection net.Conn) { receive(connection, received) })
			connection, err := tls.Dial("tcp", server.Addr().String(), &tls.Config{
				InsecureSkipVerify: true, MaxVersion: c.version, CipherSuites: []uint16{c.suite},
			})
			if err != nil {
				b.Fatal(err)
			}
			defer connection.Close()
			if used := connection.ConnectionState().CipherSuite; used != c.suite {
				b.Fatalf("the suite is %s", tls.CipherSuiteName(used))
			}
			transfer(b, connection, c.size, received)
		})
	}
}

// transfer sends `volume` bytes again and again, in writes of size bytes. It reports the CPU time.
func transfer(b *testing.B, connection io.Writer, size int, received <-chan error) {
	message := make([]byte, size)
	send(b, connection, message, received) // stacks grow, and records get longer
	before := cpuTime(b)
	for b.Loop() {
		send(b, connection, message, received)
	}
	took := cpuTime(b) - before
	b.ReportMetric(took.Seconds()/(float64(b.N)*volume/1e9), "cpu-s/GB")
}

// send returns when the other end has received `volume` bytes.
func send(b *testing.B, connection io.Writer, message []byte, received <-chan error) {
	for left := volume; left > 0; left -= len(message) {
		if _, err := connection.Write(message[:min(left, len(message))]); err != nil {
			b.Fatal(err)
		}
	}
	if err := <-received; err != nil {
		b.Fatal(err)
	}
}

// receive reports each `volume` bytes, until the other end closes the connection.
func receive(connection io.Reader, received chan<- error) {
	buffer := make([]byte, 64<<10)
	for left := volume; ; {
		n, err := connection.Read(buffer)
		if left -= n; left == 0 {
			received <- nil
			left = volume
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			received <- err
			return
		}
	}
}

func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
