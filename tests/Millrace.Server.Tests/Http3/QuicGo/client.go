// Fetches URLs over HTTP/3 with quic-go, all at once on one connection: client AUTHORITY URL...
// Prints a line for each: protocol, status, length and SHA-256 of the content.
package main

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/lucas-clemente/quic-go/http3"
)

func main() {
	authority, err := os.ReadFile(os.Args[1])
	if err != nil {
		fail(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	transport := &http3.RoundTripper{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableCompression: true}
	client := &http.Client{Transport: transport}

	urls := os.Args[2:]
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
	return fmt.Sprintf("%s %d %d %X", response.Proto, response.StatusCode, length, hash.Sum(nil))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
