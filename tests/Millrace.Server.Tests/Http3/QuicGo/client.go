// Fetches URLs over HTTP/3 with quic-go, all at once on one connection: client [SWITCHES] AUTHORITY URL...
// Prints a line for each: protocol, status, length and SHA-256 of the content. What happened to the connection is on standard error.
package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
	_ "unsafe" // go:linkname

	"github.com/lucas-clemente/quic-go"
	"github.com/lucas-clemente/quic-go/http3"
	"github.com/lucas-clemente/quic-go/logging"
)

// Only the library's own tests may import the package of this variable.
//
//go:linkname keyUpdateInterval github.com/lucas-clemente/quic-go/internal/handshake.KeyUpdateInterval
var keyUpdateInterval uint64

const patience = 30 * time.Second

var (
	updateAfter = flag.Uint64("key-update", 0, "update keys after so many packets")
	again       = flag.Bool("again", false, "fetch all once more on a second connection, which resumes the session of the first")
	oldVersion  = flag.Bool("old-version", false, "begin with a version that the server does not have")
	moveTo      = flag.String("move-to", "", "continue at this local address after a megabyte")
	leaveAfter  = flag.Int64("leave-after", 0, "close the connection when so many bytes of the first response have arrived")
)

func main() {
	flag.Parse()
	if *updateAfter > 0 {
		keyUpdateInterval = *updateAfter
	}
	authority, err := os.ReadFile(flag.Arg(0))
	if err != nil {
		fail(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	sessions := &sessionCache{tls.NewLRUClientSessionCache(10), make(chan struct{}, 100)}
	settings := &tls.Config{RootCAs: roots, ClientSessionCache: sessions}

	fetchAll(settings, flag.Args()[1:])
	if *again {
		select {
		case <-sessions.put:
		case <-time.After(patience):
			fail(errors.New("there is no session ticket"))
		}
		fetchAll(settings, flag.Args()[1:])
	}
}

// Fetches all on one connection, and closes it.
func fetchAll(settings *tls.Config, urls []string) {
	transport := &http3.RoundTripper{TLSClientConfig: settings, DisableCompression: true, Dial: dial}
	client := &http.Client{Transport: transport}
	if *leaveAfter > 0 {
		leave(client, transport, urls[0])
		return
	}
	lines := make([]string, len(urls))
	var all sync.WaitGroup
	for i, url := range urls {
		all.Add(1)
		go func(i int, url string) {
			defer all.Done()
			lines[i] = fetch(client, url)
		}(i, url)
	}
	all.Wait()
	transport.Close()
	for _, line := range lines {
		fmt.Println(line)
	}
}

func dial(ctx context.Context, address string, settings *tls.Config, config *quic.Config) (quic.EarlyConnection, error) {
	config = config.Clone()
	config.Tracer = tracer{}
	config.HandshakeIdleTimeout = patience
	if *oldVersion {
		config.Versions = []quic.VersionNumber{quic.VersionDraft29, quic.Version1}
	}
	if *moveTo == "" {
		return quic.DialAddrEarlyContext(ctx, address, settings, config)
	}
	remote, err := net.ResolveUDPAddr("udp4", address)
	if err != nil {
		return nil, err
	}
	socket, err := newMovingSocket()
	if err != nil {
		return nil, err
	}
	return quic.DialEarlyContext(ctx, socket, remote, address, settings, config)
}

func fetch(client *http.Client, url string) string {
	response, err := client.Get(url)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	hash := sha256.New()
	length, err := io.Copy(hash, response.Body)
	if err != nil {
		return err.Error()
	}
	if response.TLS != nil && response.TLS.DidResume {
		fmt.Fprintln(os.Stderr, "resumed")
	}
	return fmt.Sprintf("%s %d %d %X", response.Proto, response.StatusCode, length, hash.Sum(nil))
}

func leave(client *http.Client, transport *http3.RoundTripper, url string) {
	response, err := client.Get(url)
	if err != nil {
		fail(err)
	}
	length, err := io.CopyN(io.Discard, response.Body, *leaveAfter)
	if err != nil {
		fail(err)
	}
	transport.Close()
	fmt.Printf("%d of %d\n", length, response.ContentLength)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// Says when there is a session to resume.
type sessionCache struct {
	tls.ClientSessionCache
	put chan struct{}
}

func (c *sessionCache) Put(key string, session *tls.ClientSessionState) {
	c.ClientSessionCache.Put(key, session)
	select {
	case c.put <- struct{}{}:
	default:
	}
}

// Says what happens to a connection.
type tracer struct{ logging.NullTracer }

func (tracer) TracerForConnection(context.Context, logging.Perspective, logging.ConnectionID) logging.ConnectionTracer {
	return connectionTracer{}
}

type connectionTracer struct{ logging.NullConnectionTracer }

func (connectionTracer) ReceivedRetry(*logging.Header) { fmt.Fprintln(os.Stderr, "retry") }

func (connectionTracer) ReceivedVersionNegotiationPacket(_ *logging.Header, versions []logging.VersionNumber) {
	fmt.Fprintln(os.Stderr, "version negotiation", versions)
}

func (connectionTracer) UpdatedKey(generation logging.KeyPhase, isRemote bool) {
	fmt.Fprintln(os.Stderr, "key update", generation, isRemote)
}

// A socket that becomes another one when a megabyte has arrived. It reads from both.
type movingSocket struct {
	mutex    sync.Mutex
	sockets  []*net.UDPConn
	arrived  chan packet
	received int
}

type packet struct {
	bytes []byte
	from  net.Addr
}

func newMovingSocket() (*movingSocket, error) {
	s := &movingSocket{arrived: make(chan packet, 1000)}
	return s, s.open("127.0.0.1")
}

func (s *movingSocket) open(address string) error {
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(address)})
	if err != nil {
		return err
	}
	s.mutex.Lock()
	s.sockets = append(s.sockets, socket)
	s.mutex.Unlock()
	go s.pump(socket)
	return nil
}

func (s *movingSocket) pump(socket *net.UDPConn) {
	for {
		bytes := make([]byte, 2048)
		count, from, err := socket.ReadFromUDP(bytes)
		if err != nil {
			return
		}
		s.arrived <- packet{bytes[:count], from}
	}
}

func (s *movingSocket) ReadFrom(bytes []byte) (int, net.Addr, error) {
	next := <-s.arrived
	const megabyte = 1 << 20
	before := s.received
	s.received += len(next.bytes)
	if before < megabyte && s.received >= megabyte {
		if err := s.open(*moveTo); err != nil {
			fail(err)
		}
	}
	return copy(bytes, next.bytes), next.from, nil
}

func (s *movingSocket) current() *net.UDPConn {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.sockets[len(s.sockets)-1]
}

func (s *movingSocket) WriteTo(bytes []byte, to net.Addr) (int, error) { return s.current().WriteTo(bytes, to) }
func (s *movingSocket) LocalAddr() net.Addr                          { return s.sockets[0].LocalAddr() }
func (s *movingSocket) Close() error                                 { return nil }
func (s *movingSocket) SetDeadline(time.Time) error                  { return nil }
func (s *movingSocket) SetReadDeadline(time.Time) error              { return nil }
func (s *movingSocket) SetWriteDeadline(time.Time) error             { return nil }
