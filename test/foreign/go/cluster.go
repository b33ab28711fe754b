// The cluster that all of it is tried against, and what befalls it.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

var (
	gateways      = strings.Split(os.Getenv("KVORUM_GATEWAYS"), ",")
	clusterPorts  = strings.Split(os.Getenv("KVORUM_CLUSTER"), ",")
	zanPorts      = strings.Split(os.Getenv("KVORUM_ZAN"), ",")
	placedriver   = os.Getenv("KVORUM_HTTP")
	directory     = os.Getenv("KVORUM_DIRECTORY")
	datanodeNames = []string{"datanode1", "datanode2", "datanode3"}
)

func ask(method, path string, body any) (string, error) {
	var sent io.Reader
	if body != nil {
		text, _ := json.Marshal(body)
		sent = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, "http://"+placedriver+path, sent)
	if err != nil {
		return "", err
	}
	if body != nil {
		request.Header.Set("content-type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text)
	}
	return string(text), err
}

// createNamespace makes one as ZanRedisDB's operators do, and waits until all partitions are led.
func createNamespace(t *T, name string, partitions int) {
	query := url.Values{"namespace": {name}, "hash": {"murmur3"}, "replicator": {"3"}}
	query.Set("partition_num", fmt.Sprint(partitions))
	_, err := ask("POST", "/cluster/namespace/create?"+query.Encode(), nil)
	t.must(err)
	t.eventually(name+" is led", time.Minute, func() bool {
		led := leaders(name)
		for _, node := range led {
			if node == "" {
				return false
			}
		}
		return len(led) == partitions
	})
}

func deleteNamespace(name string) error {
	_, err := ask("DELETE", "/cluster/namespace/delete?partition=**&namespace="+name, nil)
	return err
}

// leaders are the nodes that lead the partitions of a namespace; unknown ones are empty.
func leaders(namespace string) []string {
	text, err := ask("GET", "/query/"+namespace, nil)
	if err != nil {
		return nil
	}
	var answer struct {
		Partitions map[int]struct {
			Leader struct {
				Node string `json:"node_id"`
			}
		}
	}
	if json.Unmarshal([]byte(text), &answer) != nil {
		return nil
	}
	led := make([]string, len(answer.Partitions))
	for partition, is := range answer.Partitions {
		led[partition] = is.Leader.Node
	}
	return led
}

func transferLeader(namespace string, partition int, to string) error {
	path := fmt.Sprintf("/v1/namespaces/%s/partitions/%d/transfer-leader", namespace, partition)
	_, err := ask("POST", path, map[string]string{"to": to})
	return err
}

type process struct {
	Pid   int
	Ports struct{ HTTP, Meta int }
}

func processOf(name string) (is process, err error) {
	text, err := os.ReadFile(filepath.Join(directory, "run", name+".json"))
	if err == nil {
		err = json.Unmarshal(text, &is)
	}
	return is, err
}

// kill ends a datanode as a power cut does; its supervisor starts it again.
func kill(name string) error {
	is, err := processOf(name)
	if err != nil {
		return err
	}
	return syscall.Kill(is.Pid, syscall.SIGKILL)
}

func areReady() bool {
	for _, name := range datanodeNames {
		is, err := processOf(name)
		if err != nil {
			return false
		}
		answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/readyz", is.Ports.HTTP))
		if err != nil {
			return false
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return false
		}
	}
	return true
}

func areLed() bool {
	text, err := ask("GET", "/cluster/stats", nil)
	return err == nil && strings.Contains(text, `"stable":true`)
}

// trouble moves leaders of a namespace about twice a second, and kills a datanode whenever all have
// been ready for three seconds. `end` makes an end of it, and returns when all are well again.
func trouble(t *T, namespace string) (end func()) {
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		partitions, well := len(leaders(namespace)), 0
		for {
			select {
			case <-stop:
				return
			case <-time.After(500 * time.Millisecond):
			}
			name := datanodeNames[rand.Intn(3)]
			if well++; !areReady() {
				well = 0
			}
			if well < 6 {
				_ = transferLeader(namespace, rand.Intn(partitions), name)
			} else if kill(name) == nil {
				fmt.Printf("%s is killed\n", name)
				well = 0
			}
		}
	})
	return func() {
		close(stop)
		done.Wait()
		t.eventually("all are well again", time.Minute, func() bool { return areReady() && areLed() })
	}
}
