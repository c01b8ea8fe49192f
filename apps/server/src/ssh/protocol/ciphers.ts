import type { Socket } from 'node:net'
import type { CipherAlgorithm, ServerConfig } from 'ssh2'

/** How long a client has to say its name before it is answered without. */
const speakingMs = 300

/**
 * The client’s order of ciphers decides, and OpenSSH puts those first that are the slowest here. It is offered the quick ones alone; it has had
 * them since 2013. A client that waits for us to speak first is offered all.
 */
export async function hasQuickCiphers(socket: Socket): Promise<boolean> {
  const spoken = Promise.withResolvers<Buffer | null>()
  const read = () => spoken.resolve(socket.read() as Buffer | null)
  const timer = setTimeout(() => spoken.resolve(null), speakingMs)
  socket.once('readable', read)
  socket.once('close', () => spoken.resolve(null))
  const first = await spoken.promise
  clearTimeout(timer)
  socket.off('readable', read)
  if (first === null) return false
  socket.unshift(first)
  return first.subarray(0, 16).toString('latin1') === 'SSH-2.0-OpenSSH_'
}

export const quickCiphers: readonly CipherAlgorithm[] = ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com']
export const allCiphers: readonly CipherAlgorithm[] = [
  ...quickCiphers,
  'aes128-ctr',
  'aes192-ctr',
  'aes256-ctr',
  'chacha20-poly1305@openssh.com',
]

/** What clients of the last ten years have; nothing with SHA-1. */
export const common = {
  algorithms: {
    kex: [
      'curve25519-sha256',
      'curve25519-sha256@libssh.org',
      'ecdh-sha2-nistp256',
      'ecdh-sha2-nistp384',
      'ecdh-sha2-nistp521',
      'diffie-hellman-group-exchange-sha256',
      'diffie-hellman-group16-sha512',
      'diffie-hellman-group14-sha256',
    ],
    hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
    compress: ['none'],
  },
  keepaliveInterval: 15_000,
  keepaliveCountMax: 3,
} satisfies Pick<ServerConfig, 'algorithms' | 'keepaliveInterval' | 'keepaliveCountMax'>
