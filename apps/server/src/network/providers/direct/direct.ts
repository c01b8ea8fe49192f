import type { ShareProvider } from '../provider.ts'

/** For whoever reaches the proxy already: this machine, its network, or the world when the proxy listens to it. */
export const direct: ShareProvider = {
  name: 'direct',
  label: 'This proxy',
  summary: 'An address of this proxy, for people who can reach this machine.',
  probe: async () => ({ available: true, program: null }),
  tunnel: null,
}
