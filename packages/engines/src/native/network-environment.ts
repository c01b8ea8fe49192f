/**
 * How this machine reaches the network, by the variables that tools agree on. Where a company's proxy or certificate
 * stands between it and the package registries, nothing can be installed without them.
 */
export interface NetworkEnvironment {
  /** Where certificates are: for every process. */
  readonly certificates: Readonly<Record<string, string>>
  /** Proxies and registries, which may hold credentials: for jobs that install, never for what they installed. */
  readonly registries: Readonly<Record<string, string>>
}

const certificateNames = [
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'PIP_CERT',
]

const registryNames = [
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()]),
  'npm_config_registry',
  'NPM_CONFIG_REGISTRY',
  'npm_config_cafile',
  'PIP_INDEX_URL',
  'PIP_EXTRA_INDEX_URL',
  'PIP_FIND_LINKS',
  'PIP_DEFAULT_TIMEOUT',
  'UV_INDEX_URL',
  'UV_DEFAULT_INDEX',
  'GOPROXY',
  'GONOPROXY',
  'GOSUMDB',
  'GONOSUMDB',
  'GOPRIVATE',
]

export function networkEnvironment(env: NodeJS.ProcessEnv): NetworkEnvironment {
  return { certificates: pick(env, certificateNames), registries: pick(env, registryNames) }
}

export const noNetworkEnvironment: NetworkEnvironment = { certificates: {}, registries: {} }

function pick(env: NodeJS.ProcessEnv, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]]] : [])))
}
