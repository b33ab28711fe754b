# What happens to the cluster while clients work: trouble.sh leaders|nodes
at="http://$KVORUM_HTTP/v1/namespaces/default/partitions"

process_of() {
  sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$KVORUM_DIRECTORY/run/$1.json" 2>/dev/null
}

transfer_leaders() {
  for turn in 1 2 3 1 2 3; do
    for partition in 0 1 2 3 4 5 6 7; do
      to="datanode$(((partition + turn) % 3 + 1))"
      # refused where that node leads already
      curl -s -m 5 -o /dev/null -H 'content-type: application/json' -d "{\"to\":\"$to\"}" \
        "$at/$partition/transfer-leader"
      sleep 0.1
    done
  done
}

# kill -9, and back when the supervisor has it back and every partition has a leader
kill_node() {
  dead=$(process_of "$1")
  kill -9 "$dead"
  for _ in $(seq 300); do
    alive=$(process_of "$1")
    [ -n "$alive" ] && [ "$alive" != "$dead" ] && is_calm && return
    sleep 0.2
  done
}

is_calm() {
  ! curl -s -m 5 "http://$KVORUM_HTTP/v1/nodes" | grep -q '"alive":false' &&
    ! curl -s -m 5 "$at" | grep -qE '"settled":false|"leader":null'
}

case $1 in
leaders) transfer_leaders ;;
nodes) for node in 1 2 3; do kill_node "datanode$node"; done ;;
esac
