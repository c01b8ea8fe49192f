import { parseArgs } from 'node:util'
import { createReader } from './reader.ts'
import { openSmtp } from './smtp.ts'
import { openStore } from './store.ts'
import { openWeb } from './web.ts'

/**
 * `mail-catcher --data DIR --smtp-port N --web-port N [--smtp-host A] [--web-host A] [--shown-port N] [--name NAME]…
 * [--max-messages N] [--max-bytes N]`: takes mail by SMTP, delivers nothing, and shows it on the web port (see `inbox.ts`). The environment
 * variable INBOX_API_KEY is the key of those who ask from elsewhere; without it there is none.
 */
const { values: options } = parseArgs({
  options: {
    data: { type: 'string' },
    'smtp-port': { type: 'string' },
    'web-port': { type: 'string' },
    'smtp-host': { type: 'string', default: '127.0.0.1' },
    'web-host': { type: 'string', default: '127.0.0.1' },
    // The web port as clients name it, where it is published as another one.
    'shown-port': { type: 'string' },
    // Names under which the web port is reached, besides loopback ones.
    name: { type: 'string', multiple: true, default: [] },
    // The name under which a proxy leads to it, at whichever port that has.
    'page-name': { type: 'string' },
    'max-messages': { type: 'string', default: '10000' },
    'max-bytes': { type: 'string', default: String(2 * 1024 ** 3) },
  },
})
const { data, 'smtp-port': smtpPort, 'web-port': webPort, 'shown-port': shownPort } = options
if (data === undefined || smtpPort === undefined || webPort === undefined) {
  console.error('Usage: mail-catcher --data DIR --smtp-port N --web-port N')
  process.exit(2)
}
process.umask(0o077)
const apiKey = process.env.INBOX_API_KEY || null
// Nothing this program starts needs the key.
delete process.env.INBOX_API_KEY

try {
  const reader = createReader()
  const store = await openStore(data, {
    messages: Number(options['max-messages']),
    bytes: Number(options['max-bytes']),
  })
  const smtp = await openSmtp(Number(smtpPort), options['smtp-host'], store, reader)
  const web = await openWeb({
    ...{ port: Number(webPort), host: options['web-host'], names: options.name, apiKey },
    pageName: options['page-name'] ?? null,
    shownPort: shownPort === undefined ? null : Number(shownPort),
    ...{ store, reader },
  })
  console.log(`Mail to ${options['smtp-host']}:${smtpPort}, inbox on http://${options['web-host']}:${webPort}`)
  let ending = false
  const end = async () => {
    if (ending) return
    ending = true
    await Promise.all([smtp.close(), web.close()])
    store.close()
    await reader.close()
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, end)
} catch (error) {
  console.error(`The mail catcher cannot start: ${(error as Error).message}`)
  process.exit(1)
}
