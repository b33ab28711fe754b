# Sidekiq: jobs, what failed, its statistics, and a worker that goes on while a datanode is killed.
# What is scheduled, and what is tried again, is taken from its set by a script.
# Versions are Debian's (ruby-sidekiq 6.4.1, ruby-redis 4.8.0).
require 'json'
require 'net/http'
require_relative 'jobs'
require 'sidekiq/api'

$failed = 0

def attempt(name)
  yield
  puts "ok #{name}"
rescue StandardError => e
  $failed += 1
  puts "not ok #{name}: #{e.class} #{e.message[0, 300].tr("\n", ' ')}"
ensure
  $stdout.flush
end

# What a datanode that is killed leaves unanswered is asked again.
def eventually(what, seconds = 60)
  finish = Time.now + seconds
  loop do
    is_so = begin
      yield
    rescue Redis::BaseError
      false
    end
    return if is_so
    raise "not after #{seconds} s: #{what}" if Time.now > finish

    sleep 0.1
  end
end

def make_namespace
  return unless ENV.key?('KVORUM_HTTP')

  namespace = { name: 'db1', partitions: 1, replicas: 3 }.to_json
  url = URI("http://#{ENV['KVORUM_HTTP']}/v1/namespaces")
  Net::HTTP.post(url, namespace, 'content-type' => 'application/json').body
  eventually('the namespace is there') { Sidekiq.redis { |redis| redis.set('ready', 1) } }
end

def kill_datanode(name)
  return unless ENV.key?('KVORUM_DIRECTORY')

  file = File.join(ENV['KVORUM_DIRECTORY'], 'run', "#{name}.json")
  Process.kill('KILL', JSON.parse(File.read(file))['pid'])
end

def number(key)
  Sidekiq.redis { |redis| redis.get(key) }.to_i
end

def try_jobs
  attempt('sidekiq runs a job') do
    Add.perform_async(3)
    eventually('it ran') { number('sum') == 3 }
  end
  attempt('sidekiq runs many, each once') do
    Sidekiq::Client.push_bulk('class' => Add, 'args' => Array.new(200) { |i| [i] })
    eventually('all ran') { Sidekiq::Queue.new.size.zero? && number('sum') >= 19_903 }
    raise "the sum is #{number('sum')}" unless number('sum') == 19_903
  end
  attempt('sidekiq keeps what failed for a retry') do
    Fail.perform_async
    eventually('it is there') { Sidekiq::RetrySet.new.size == 1 }
    Sidekiq::RetrySet.new.clear
  end
  attempt('sidekiq keeps what is scheduled') do
    Add.perform_in(3600, 1)
    raise 'it is not there' unless Sidekiq::ScheduledSet.new.map(&:klass) == ['Add']
  end
  attempt('sidekiq runs what is scheduled, each once') { try_scheduled }
  attempt('sidekiq tries again what failed') do
    Twice.perform_async
    eventually('it ran twice') { number('tries') == 2 && Sidekiq::RetrySet.new.size.zero? }
  end
end

def try_scheduled
  before = number('sum')
  began = Time.now
  20.times { Add.perform_in(2, 1) }
  eventually('all ran') { number('sum') >= before + 20 }
  raise 'too soon' if Time.now - began < 1.5

  sleep 1
  raise "the sum is #{number('sum') - before}" unless number('sum') == before + 20
  raise 'what is for later is gone' unless Sidekiq::ScheduledSet.new.size == 1
end

def try_worker
  attempt('sidekiq tells of its workers') do
    Sleep.perform_async(12)
    eventually('it works') { Sidekiq::ProcessSet.new.size == 1 && Sidekiq::Workers.new.size == 1 }
    eventually('it is counted') { Sidekiq::Stats.new.processed >= 201 }
  end
  attempt('sidekiq goes on while a datanode is killed') do
    before = number('sum')
    Sidekiq::Client.push_bulk('class' => Add, 'args' => Array.new(100) { [1] })
    kill_datanode('datanode1')
    eventually('the queue is empty') { Sidekiq::Queue.new.size.zero? }
    # Three threads, each with a job on its way at most: it may be lost, or have run without an answer.
    eventually('all ran') { number('sum') >= before + 97 }
  end
end

make_namespace
Sidekiq.redis(&:flushdb)
command = ['sidekiq', '-r', './jobs.rb', '-c', '3', '-t', '5']
worker = Process.spawn(*command, chdir: __dir__, out: File::NULL, err: File::NULL)
begin
  try_jobs
  try_worker
ensure
  Process.kill('TERM', worker)
  Process.wait(worker)
end
exit $failed.zero?
