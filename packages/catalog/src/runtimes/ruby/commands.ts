import type { ProcessRun } from '@stackquay/engine-api'
import type { Listen } from '../../entry-types.ts'
import { place } from '../../server-workload.ts'

export interface RubyServer {
  readonly preset: string
  readonly listen: Listen
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
      words: [...prefix(server), 'ruby', 'app.rb', '-o', server.listen.address, '-p', String(server.listen.port)],
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

function rack({ gems, listen }: RubyServer): readonly string[] {
  return gems.has('puma') && !gems.has('rackup')
    ? ['puma', '--bind', `tcp://${place(listen)}`]
    : ['rackup', '--host', listen.address, '--port', String(listen.port)]
}

/** Rails refuses to start over the file of a server that was killed. Only one runs here at a time, so the file can go first. */
function rails(server: RubyServer): ProcessRun['argv'] {
  const { ruby, pidFile, listen } = server
  const script = 'pid=$1; shift; rm -f "$pid"; exec "$@"'
  const flags = ['-b', listen.address, '-p', String(listen.port), '-P', pidFile]
  return ['/bin/sh', '-c', script, 'rails', pidFile, ruby, '-S', 'bundle', 'exec', 'rails', 'server', ...flags]
}

/** Names of gems that a Gemfile asks for. */
export function gemsIn(gemfile: string | true | undefined): ReadonlySet<string> {
  if (typeof gemfile !== 'string') return new Set()
  return new Set([...gemfile.matchAll(/^[ \t]*gem[ \t]*(?:\([ \t]*)?['"]([\w-]+)['"]/gm)].map(([, name]) => name!))
}
