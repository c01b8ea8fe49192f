/** The same in every project, so that a copy of the data has no user of its origin in it whose password still works. */
export const username = 'app'

/** The one that clients and frameworks mean when nothing is said. */
export const virtualHost = '/'

/**
 * Imported at every start. `HASH` stands for the salted hash of the password. The user may do everything: the broker is
 * the project's alone.
 */
export const definitions = JSON.stringify({
  users: [
    {
      name: username,
      password_hash: 'HASH',
      hashing_algorithm: 'rabbit_password_hashing_sha256',
      tags: ['administrator'],
    },
  ],
  vhosts: [{ name: virtualHost }],
  permissions: [{ user: username, vhost: virtualHost, configure: '.*', write: '.*', read: '.*' }],
})
