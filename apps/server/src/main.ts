import { StoreUnusableError } from '@stackquay/store'
import { pino } from 'pino'
import { type App, type AppOptions, createApp } from './app.ts'
import { collectAfterStart } from './collect-after-start.ts'
import { type Config, ConfigError, readConfig } from './config.ts'
import { BootError } from './home.ts'
import { HomeInUseError } from './instance-lock.ts'
import { type HeldAddress, heldAddresses } from './ports/held-addresses.ts'
import { createPortsKeeper } from './ports/held-ports.ts'
import { type InheritedSockets, takeInheritedSockets } from './ports/inherited-sockets.ts'
import { AddressError, listenPage } from './ports/listen-page.ts'
import { sharesPorts } from './ports/shares-ports.ts'

const say = (text: string) => process.stdout.write(`${text}\n`)

/** What a person can mend is said in a sentence; everything else shows where it came from. */
function refuse(error: unknown): never {
  const expected =
    error instanceof ConfigError ||
    error instanceof BootError ||
    error instanceof AddressError ||
    error instanceof HomeInUseError ||
    error instanceof StoreUnusableError
  process.stderr.write(`${expected ? error.message : error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(1)
}

async function main(): Promise<void> {
  const config = readConfig(process.env)
  const log = pino({ level: config.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime })
  const sockets = takeInheritedSockets(process.env)
  let current = await open({ config, log, sockets })
  greet(current.app)
  const isEnding = endOn(() => current.app.close())
  collectAfterStart(current.app.ready)
  for (;;) {
    await current.app.ready.catch((error: unknown) => {
      // Ended while it still looked for projects: the end is under way, and must be allowed to close what is open.
      if (!isEnding()) throw error
    })
    await current.restarting
    if (isEnding()) return
    await current.app.close()
    if (isEnding()) return
    // Descriptors that somebody handed over are closed with the app; whoever has them starts the service again.
    if (Object.keys(sockets).length > 0) process.exit(0)
    current = await open({ config: { ...config, restore: null }, log, sockets })
    say(`Stackquay was restored, and answers at ${current.app.config.publicUrl}`)
  }
}

interface Opened {
  readonly app: App
  /** Ends when the app asks to be closed and opened again. */
  readonly restarting: Promise<void>
}

async function open(
  given: Pick<AppOptions, 'config' | 'log'> & { readonly sockets: InheritedSockets },
): Promise<Opened> {
  const { log, sockets } = given
  let { config } = given
  const ports = createPortsKeeper({
    home: config.home,
    // Asked when the app is open, and knows what is stored.
    addresses: () => portsOf(config, sockets),
    onError: (error, what) => log.error({ err: error }, what),
  })
  const restarting = Promise.withResolvers<void>()
  const app = await createApp({ config, log, say, sockets, ports, restart: restarting.resolve })
  config = app.config
  try {
    await listenPage(app.http, config.listen, sockets.page)
  } catch (error) {
    await app.close()
    throw error
  }
  await app.ssh.listen()
  const ssh = app.ssh.state()
  if (ssh.kind === 'not_listening')
    say(`SSH does not answer: ${ssh.reason} Set STACKQUAY_SSH to another one, or to "off".`)
  // Behind the page: its own socket holds the port until then.
  if (sharesPorts()) ports.start()
  return { app, restarting: restarting.promise }
}

/** Whatever systemd holds needs nobody else, but for the addresses beside it. */
async function portsOf(config: Config, sockets: InheritedSockets): Promise<readonly HeldAddress[]> {
  const page = await heldAddresses(config.listen)
  const proxy = config.proxy === null ? [] : await heldAddresses(config.proxy)
  const https = config.proxyHttps === null ? [] : await heldAddresses(config.proxyHttps)
  return [
    ...page.filter(({ listens }) => sockets.page === undefined || !listens),
    ...proxy.filter(({ listens }) => sockets.proxy === undefined || !listens),
    ...https.filter(({ listens }) => sockets.proxyHttps === undefined || !listens),
  ]
}

function greet(app: App): void {
  const { config } = app
  say(`Stackquay answers at ${config.publicUrl}`)
  if (config.proxy !== null) say(`Projects answer at http://<name>.${config.baseDomain}:${config.proxy.port}`)
  const code = app.setup.value()
  if (code !== null)
    say(`\nFirst start: open ${config.publicUrl} and make the administrator with this one-time code: ${code}\n`)
}

function endOn(close: () => Promise<void>): () => boolean {
  let ending = false
  const end = () => {
    if (ending) process.exit(130)
    ending = true
    say('Ending. Projects and their addresses stay up; start again to manage them.')
    close().then(
      () => process.exit(0),
      (error: unknown) => refuse(error),
    )
  }
  process.on('SIGTERM', end)
  process.on('SIGINT', end)
  return () => ending
}

main().catch(refuse)
