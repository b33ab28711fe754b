<?php
/* What happens to the cluster while clients work; `php trouble.php leaders|nodes` is a process of its own. */

/** Yields 1, 2, … until the trouble is over. */
function during(string $trouble): Generator
{
    $process = proc_open(['php', __FILE__, $trouble], [1 => STDERR, 2 => STDERR], $pipes);
    for ($turn = 1; proc_get_status($process)['running']; $turn++) {
        yield $turn;
    }
    proc_close($process);
}

function ask(string $path, ?array $body = null): ?array
{
    $options = ['timeout' => 5, 'ignore_errors' => true];
    if ($body !== null) {
        $content = ['method' => 'POST', 'header' => 'content-type: application/json', 'content' => json_encode($body)];
        $options += $content;
    }
    $context = stream_context_create(['http' => $options]);
    $text = @file_get_contents('http://' . getenv('KVORUM_HTTP') . $path, false, $context);
    return $text === false ? null : json_decode($text, true);
}

const NODES = ['datanode1', 'datanode2', 'datanode3'];

function transfer_leaders(float $seconds): void
{
    $end = microtime(true) + $seconds;
    $at = '/v1/namespaces/default/partitions';
    $count = count(ask($at)['partitions']);
    for ($turn = 0; microtime(true) < $end; $turn++) {
        $partition = $turn % $count;
        // refused where that node leads already
        ask("$at/$partition/transfer-leader", ['to' => NODES[($partition + intdiv($turn, $count)) % 3]]);
        usleep(100_000);
    }
}

function process_of(string $node): ?int
{
    $text = @file_get_contents(getenv('KVORUM_DIRECTORY') . "/run/$node.json");
    return $text === false ? null : json_decode($text, true)['pid'] ?? null;
}

/** `kill -9`, and returns when the supervisor has it back and all is as it should be. */
function kill(string $node): void
{
    $dead = process_of($node);
    exec("kill -9 $dead");
    wait_until(fn() => !in_array(process_of($node), [$dead, null], true));
    wait_until(fn() => is_calm());
}

function wait_until(callable $holds): void
{
    for ($tries = 0; $tries < 300 && !$holds(); $tries++) {
        usleep(200_000);
    }
}

/** Every node is there, every partition led by the first of its replicas. */
function is_calm(): bool
{
    $partitions = ask('/v1/namespaces/default/partitions')['partitions'] ?? [];
    $hurt = array_filter($partitions, fn($one) => !$one['settled']
        || ($one['leader']['node'] ?? null) !== $one['wanted'][0]['node']);
    $away = array_filter(ask('/v1/nodes')['nodes'] ?? [], fn($node) => !$node['alive']);
    return $partitions !== [] && $hurt === [] && $away === [];
}

if (realpath($_SERVER['SCRIPT_FILENAME']) === __FILE__) {
    if ($argv[1] === 'leaders') {
        transfer_leaders(15);
    } else {
        array_map('kill', NODES);
    }
}
