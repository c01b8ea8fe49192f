import { programOnPath } from '../program-on-path.ts'
import type { ShareProvider } from '../provider.ts'

/** A quick tunnel: no account, an address below `trycloudflare.com` that lives as long as the program. */
export const cloudflare: ShareProvider = {
  name: 'cloudflare',
  label: 'Cloudflare quick tunnel',
  summary: 'A public https address. What people see passes through Cloudflare’s machines.',
  probe: async ({ path }) => {
    const program = await programOnPath('cloudflared', path)
    if (program !== null) return { available: true, program }
    return {
      available: false,
      reason: 'The program "cloudflared" is not installed.',
      install: 'https://developers.cloudflare.com/cloudflare-one/connections/connect-networks/downloads/',
    }
  },
  tunnel: {
    // Set by Cloudflare's edge; one that a visitor sends is replaced there.
    clientHeader: 'cf-connecting-ip',
    args: (port) => [
      'tunnel',
      // A configuration for another tunnel would answer in the share's place.
      '--config',
      '/dev/null',
      '--no-autoupdate',
      '--url',
      `http://127.0.0.1:${port}`,
    ],
    addressIn: (line) => quickAddress.exec(line)?.[0] ?? null,
  },
}

/** The address of the service itself stands in error messages. */
const quickAddress = /https:\/\/(?!api\.)[a-z0-9]+(?:-[a-z0-9]+)*\.trycloudflare\.com(?![\w.-])/
