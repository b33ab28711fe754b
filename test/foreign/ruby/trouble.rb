# What happens to the cluster while clients work: leaders are transferred, nodes are killed.

require 'json'
require 'net/http'

module Trouble
  NODES = %w[datanode1 datanode2 datanode3].freeze
  PARTITIONS = '/v1/namespaces/default/partitions'.freeze

  module_function

  def transfer_leaders(seconds)
    stop = Time.now + seconds
    count = partitions.size
    (0..).each do |turn|
      return if Time.now > stop

      partition = turn % count
      node = NODES[(partition + turn / count) % 3]
      # refused where that node leads already
      http { |to| to.post("#{PARTITIONS}/#{partition}/transfer-leader", { to: node }.to_json, 'content-type' => 'application/json') }
      sleep 0.1
    end
  end

  # `kill -9`, and returns when the supervisor has it back and all is as it should be
  def kill(node)
    dead = process_of(node)
    Process.kill(:KILL, dead)
    wait_until { ![dead, nil].include?(process_of(node)) }
    wait_until { calm? }
  end

  def wait_until
    stop = Time.now + 60
    until yield
      raise 'the cluster does not come to rest' if Time.now > stop

      sleep 0.2
    end
  end

  def process_of(node)
    JSON.parse(File.read("#{ENV.fetch('KVORUM_DIRECTORY')}/run/#{node}.json"))['pid']
  rescue Errno::ENOENT, JSON::ParserError
    nil
  end

  # every node is there, every partition led by the first of its replicas
  def calm?
    nodes = JSON.parse(http { |to| to.get('/v1/nodes') }.body)['nodes']
    nodes.all? { |node| node['alive'] } && partitions.all? do |one|
      one['settled'] && one.dig('leader', 'node') == one['wanted'][0]['node']
    end
  end

  def partitions
    JSON.parse(http { |to| to.get(PARTITIONS) }.body)['partitions']
  end

  def http(&block)
    host, port = ENV.fetch('KVORUM_HTTP').split(':')
    Net::HTTP.start(host, port.to_i, read_timeout: 5, &block)
  end
end
