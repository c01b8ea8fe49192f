import { existsSync } from 'node:fs'
import { createRequire, registerHooks } from 'node:module'
import type Dockerode from 'dockerode'

/**
 * Docker's client, loaded when it is used first. A service whose engine of Docker waits for a Docker that is not there, as on every
 * machine without it, need not hold the 15 MB that the client takes: until it is loaded, a socket that is missing is refused as
 * the kernel would.
 */
export function clientWhenUsed(options: Dockerode.DockerOptions & { readonly socketPath?: string }): Dockerode {
  let made: Dockerode | null = null
  const client = () => {
    if (made === null && options.socketPath !== undefined && !existsSync(options.socketPath))
      throw notThere(options.socketPath)
    made ??= new (loadDockerode())(options)
    return made
  }
  return new Proxy({} as Dockerode, {
    get: (_target, name) => Reflect.get(client(), name),
    has: (_target, name) => Reflect.has(client(), name),
  })
}

function notThere(path: string): Error {
  return Object.assign(new Error(`connect ENOENT ${path}`), { code: 'ENOENT', syscall: 'connect', address: path })
}

/** Of what it brings along for ssh:// and for building in sessions of BuildKit, nothing is used here, and that is another 17 MB. */
const unused = new Set(['ssh2', '@grpc/grpc-js', '@grpc/proto-loader'])
const nothing = 'stackquay:nothing'
let loaded: typeof Dockerode | null = null

function loadDockerode(): typeof Dockerode {
  if (loaded !== null) return loaded
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      unused.has(specifier) ? { url: nothing, format: 'commonjs', shortCircuit: true } : next(specifier, context),
    load: (url, context, next) =>
      url === nothing ? { format: 'commonjs', source: 'module.exports = {}', shortCircuit: true } : next(url, context),
  })
  try {
    loaded = createRequire(import.meta.url)('dockerode') as typeof Dockerode
    return loaded
  } finally {
    hooks.deregister()
  }
}
