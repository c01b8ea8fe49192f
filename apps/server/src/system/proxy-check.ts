import type { DiagnosticCheck } from '@stackquay/contract'
import { addressText } from '../ports/held-addresses.ts'
import { nameOfUser } from '../users/name-of-user.ts'
import type { DiagnosticsDeps } from './diagnostics.ts'

/** Whether projects are reached by the proxy, and by https where they should. */
export async function proxyCheck({
  config,
  proxy,
  proxyFault,
  httpsFault,
}: Pick<DiagnosticsDeps, 'config' | 'proxy' | 'proxyFault' | 'httpsFault'>): Promise<DiagnosticCheck> {
  const made = { id: 'proxy', category: 'network', title: 'Proxy', hint: null, fix: null } as const
  if (config.proxy === null)
    return { ...made, status: 'info', detail: 'The proxy is switched off; projects answer at their ports only.' }
  const status = await proxy()?.status()
  if (status === undefined) {
    const detail = proxyFault() ?? 'The proxy does not answer.'
    return { ...made, status: 'error', detail, hint: 'It is started again by itself; see proxy/proxy.log in the home.' }
  }
  const noHttps = httpsFault()
  if (noHttps !== null) {
    const detail = `It does not answer by https: ${noHttps}`
    return { ...made, status: 'warning', detail, hint: 'Projects answer by http. After that, restart the service.' }
  }
  const detail = `Answers at ${addressText(config.proxy)} (pid ${status.pid})${await runsAs(status.uid)}.`
  return { ...made, status: 'ok', detail }
}

async function runsAs(uid: number | null): Promise<string> {
  if (uid === null) return ''
  const name = await nameOfUser(uid)
  return `, runs as ${name === null ? `uid ${uid}` : `"${name}"`}`
}
