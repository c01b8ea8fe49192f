import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, realpathSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'

export interface Launch {
  readonly program: string
  readonly data: string
  readonly serverPort: number
  readonly transportPort: number
}

/** Starts OpenSearch over the configuration that was written, with everything it makes inside the data folder. */
export function launch({ program, data, serverPort, transportPort }: Launch): ChildProcess {
  const temporary = join(data, 'tmp')
  // Libraries that it unpacks at each start stay behind when it is killed.
  rmSync(temporary, { recursive: true, force: true })
  for (const folder of [temporary, join(data, 'logs')]) mkdirSync(folder, { recursive: true, mode: 0o700 })
  const { AUTH_PROXY_PASSWORD: _, ...env } = process.env
  const settings = {
    'network.host': '127.0.0.1',
    'http.port': serverPort,
    'transport.port': transportPort,
    'path.data': join(data, 'nodes'),
    'path.logs': join(data, 'logs'),
    ...withoutSecurity(program),
  }
  return spawn(
    program,
    Object.entries(settings).map(([name, value]) => `-E${name}=${value}`),
    {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...env, OPENSEARCH_PATH_CONF: join(data, 'config'), OPENSEARCH_TMPDIR: temporary },
    },
  )
}

/** The plugin refuses to start without certificates; where it is not installed, OpenSearch refuses the setting that it does not know. */
function withoutSecurity(program: string): Readonly<Record<string, boolean>> {
  const home = dirname(dirname(realpathSync(program)))
  return existsSync(join(home, 'plugins', 'opensearch-security')) ? { 'plugins.security.disabled': true } : {}
}
