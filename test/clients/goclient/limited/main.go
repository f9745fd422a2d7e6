// Command limited makes one request more than the minute allows, by go-retryablehttp, and prints how many were refused.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"

	"github.com/hashicorp/go-retryablehttp"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: limited URL KEY REQUESTS")
	}
	requests, err := strconv.Atoi(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	refused := 0
	client := retryablehttp.NewClient()
	client.Logger = nil
	client.ResponseLogHook = func(_ retryablehttp.Logger, resp *http.Response) {
		if resp.StatusCode == http.StatusTooManyRequests {
			refused++
		}
	}
	for range requests {
		if err := read(client, os.Args[1]+"/pets?limit=1", os.Args[2]); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("refused", refused)
}

func read(client *retryablehttp.Client, url, key string) error {
	req, err := retryablehttp.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s was answered with %d", url, resp.StatusCode)
	}
	return nil
}
