import type { ProcessRun } from '@stackquay/engine-api'

export interface RubyServer {
  readonly preset: string
  readonly port: number
  readonly gems: ReadonlySet<string>
  readonly hasConfigRu: boolean
  /** Where Rails writes its process id. */
  readonly pidFile: string
  /** Absolute path of the interpreter. */
  readonly ruby: string
  /** Whether there is a Gemfile, so that Bundler decides which gems are used. */
  readonly bundled: boolean
}

/** What serves, with the files of which one must be there. */
export function serverCommand(server: RubyServer): {
  readonly words: ProcessRun['argv']
  readonly requires: readonly string[]
  readonly hint: string
} {
  if (server.preset === 'rails') {
    return {
      words: rails(server),
      requires: ['bin/rails', 'config/application.rb'],
      hint: 'This is no Rails application yet: bin/rails is missing. Add it, or choose the preset "rack".',
    }
  }
  if (server.preset === 'sinatra' && !server.hasConfigRu) {
    return {
      words: [...prefix(server), 'ruby', 'app.rb', '-o', '127.0.0.1', '-p', String(server.port)],
      requires: ['app.rb', 'config.ru'],
      hint: 'app.rb is missing: add it, or a config.ru.',
    }
  }
  return {
    words: [...prefix(server), ...rack(server)],
    requires: ['config.ru'],
    hint: 'config.ru is missing: add it, or choose another preset.',
  }
}

function prefix(server: RubyServer): ProcessRun['argv'] {
  return server.bundled ? [server.ruby, '-S', 'bundle', 'exec'] : [server.ruby, '-S']
}

function rack(server: RubyServer): readonly string[] {
  return server.gems.has('puma') && !server.gems.has('rackup')
    ? ['puma', '--bind', `tcp://127.0.0.1:${server.port}`]
    : ['rackup', '--host', '127.0.0.1', '--port', String(server.port)]
}

/** Rails refuses to start over the file of a server that was killed. Only one runs here at a time, so the file can go first. */
function rails(server: RubyServer): ProcessRun['argv'] {
  const { ruby, pidFile, port } = server
  const script = 'pid=$1; shift; rm -f "$pid"; exec "$@"'
  const flags = ['-b', '127.0.0.1', '-p', String(port), '-P', pidFile]
  return ['/bin/sh', '-c', script, 'rails', pidFile, ruby, '-S', 'bundle', 'exec', 'rails', 'server', ...flags]
}

/** Names of gems that a Gemfile asks for. */
export function gemsIn(gemfile: string | true | undefined): ReadonlySet<string> {
  if (typeof gemfile !== 'string') return new Set()
  return new Set([...gemfile.matchAll(/^[ \t]*gem[ \t]*(?:\([ \t]*)?['"]([\w-]+)['"]/gm)].map(([, name]) => name!))
}
