import { spawn } from 'node:child_process'
import type { Context, World } from '../context.ts'
import type { Define } from '../define.ts'
import { projectRef } from '../find-project.ts'
import { projectArgument } from '../options.ts'

interface OpenFlags {
  readonly browser?: boolean
}

export const define: Define = (command, context) =>
  command
    .argument('[project]', projectArgument)
    .option('--no-browser', 'only print the URL')
    .action((project: string | undefined, flags: OpenFlags) => run(context(), project, flags))

async function run(context: Context, named: string | undefined, flags: OpenFlags): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const { url, slug, status } = await client.call('getProject', { params: { id } }, { signal: context.signal })
  if (status.state === 'sleeping') context.note(`${slug} is asleep. A request wakes it.`)
  if (status.state === 'stopped') context.note(`${slug} is stopped. Start it with: stq start ${slug}`)
  showUrl(context, url, flags)
}

export function showUrl(context: Context, url: string, flags: OpenFlags): void {
  context.result({ url }, () => url)
  const opener = openerOf(context.world)
  if (flags.browser !== false && !context.json && opener !== null && isWebUrl(url)) openUrl(opener, url)
}

/** Null where there is no screen to open a browser on, or no terminal. */
function openerOf({ env, stdout }: World): string | null {
  if (stdout.isTTY !== true) return null
  if (process.platform === 'darwin') return 'open'
  return env.DISPLAY || env.WAYLAND_DISPLAY ? 'xdg-open' : null
}

/** The opener also starts programs; only an address of the web may reach it. */
function isWebUrl(url: string): boolean {
  return /^https?:\/\//.test(url)
}

function openUrl(opener: string, url: string): void {
  const child = spawn(opener, [url], { stdio: 'ignore', detached: true })
  // Without an opener the printed URL is all there is.
  child.on('error', () => {})
  child.unref()
}
