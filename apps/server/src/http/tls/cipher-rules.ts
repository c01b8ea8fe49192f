import { tls12Ciphers, tls13Ciphers } from '@stackquay/proxy/tls/ciphers'

/** As in front of projects: TLS 1.2 and 1.3 with forward secrecy and authenticated encryption alone. */
export const tlsRules = {
  minVersion: 'TLSv1.2',
  honorCipherOrder: false,
  ciphers: [...tls13Ciphers, ...tls12Ciphers].join(':'),
} as const
