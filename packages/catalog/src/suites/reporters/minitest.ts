/**
 * Reports for Minitest, which has no output for machines. It is loaded with RUBYOPT into every Ruby that a test command
 * starts (rake starts another one) and waits there until Minitest is defined.
 */
export const minitestReporter = `# frozen_string_literal: true

# Writes the result of each test as a line of JSON.
module StackquayMinitest
  class Reporter
    def initialize(path)
      require 'json'
      @file = File.open(path, 'a')
      write(results: 'stackquay')
    end

    def start; end

    def prerecord(_class, _name); end

    def record(result)
      failure = result.failure
      file, line = place_of(result)
      group = result.respond_to?(:klass) ? result.klass : result.class.name
      fields = { name: result.name, group: group, file: file && File.expand_path(file), line: line, seconds: result.time }
      if failure.nil?
        write(**fields, outcome: 'passed')
      elsif result.skipped?
        write(**fields, outcome: 'skipped', message: failure.message)
      else
        write(**fields, outcome: 'failed', **told(result, failure, fields))
      end
    end

    def report
      write(end: true)
    end

    def passed?
      true
    end

    private

    def told(result, failure, fields)
      unexpected = failure.is_a?(Minitest::UnexpectedError)
      error = unexpected ? failure.error : failure
      trace = (error.backtrace || []).first(100)
      mine = trace.map { |frame| frame.match(/\\A(.+?):(\\d+)/) }.compact
                  .find { |match| fields[:file] && File.expand_path(match[1]) == fields[:file] }
      said = unexpected ? "#{error.class}: #{error.message}" : failure.message
      { line: mine ? mine[2].to_i : fields[:line], message: said,
        details: result.failures.map { |one| one.message }.join("\\n\\n") + "\\n\\n" + trace.join("\\n") }
    end

    def place_of(result)
      return result.source_location if result.respond_to?(:source_location)

      result.method(result.name).source_location
    end

    def write(**fields)
      fields.each { |key, value| fields[key] = value.dup.force_encoding('UTF-8').scrub if value.is_a?(String) }
      @file.write(JSON.generate(fields) + "\\n")
      @file.flush
    end
  end

  def self.install
    Minitest.extensions << 'stackquay'
    Minitest.define_singleton_method(:plugin_stackquay_init) do |options|
      wanted = ENV['STACKQUAY_TEST_FILTER']
      # A text between slashes is a pattern for Minitest.
      unless wanted.nil? || wanted.empty?
        pattern = wanted =~ %r{\\A/.+/\\z}m ? wanted : "/#{Regexp.escape(wanted)}/"
        options[:filter] = pattern
        options[:include] = pattern
      end
      Minitest.reporter << Reporter.new(ENV.fetch('STACKQUAY_TEST_RESULTS'))
    end
  end

  if ENV['STACKQUAY_TEST_RESULTS']
    @waiting = TracePoint.new(:end) do
      if defined?(::Minitest) && ::Minitest.respond_to?(:extensions) && ::Minitest.respond_to?(:init_plugins) &&
         ::Minitest.extensions
        @waiting.disable
        install
      end
    end
    @waiting.enable
  end
end
`
