# What the worker runs. How often a job ran is counted in the cluster.
require 'sidekiq'

# A namespace of one partition: Sidekiq changes keys of any names in one transaction.
PLACE = ENV.fetch('KVORUM_GATEWAYS').split(',').first
URL = "redis://#{PLACE}/1".freeze

Sidekiq.configure_client { |config| config.redis = { url: URL } }
Sidekiq.configure_server do |config|
  config.redis = { url: URL }
  # How often it looks for what is to run: five seconds by itself.
  config.average_scheduled_poll_interval = 1
end
Redis.sadd_returns_boolean = false

class Add
  include Sidekiq::Worker
  sidekiq_options retry: false

  def perform(number)
    Sidekiq.redis { |redis| redis.incrby('sum', number) }
  end
end

class Fail
  include Sidekiq::Worker

  def perform
    raise 'as it should'
  end
end

# Fails once, and is tried again within moments.
class Twice
  include Sidekiq::Worker
  sidekiq_retry_in { 1 }

  def perform
    raise 'as it should' if Sidekiq.redis { |redis| redis.incr('tries') } < 2
  end
end

class Sleep
  include Sidekiq::Worker

  def perform(seconds)
    Sidekiq.redis { |redis| redis.incr('began') }
    sleep seconds
    Sidekiq.redis { |redis| redis.incr('ended') }
  end
end
