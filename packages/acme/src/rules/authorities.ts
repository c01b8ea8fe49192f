/** Certificate authorities that are known by a name. Others by the address of their directory. */
export const knownAuthorities = {
  letsencrypt: 'https://acme-v02.api.letsencrypt.org/directory',
  'letsencrypt-staging': 'https://acme-staging-v02.api.letsencrypt.org/directory',
  zerossl: 'https://acme.zerossl.com/v2/DV90',
  google: 'https://dv.acme-v02.api.pki.goog/directory',
} as const

export function directoryOf(nameOrUrl: string): string {
  return Object.hasOwn(knownAuthorities, nameOrUrl)
    ? knownAuthorities[nameOrUrl as keyof typeof knownAuthorities]
    : nameOrUrl
}
