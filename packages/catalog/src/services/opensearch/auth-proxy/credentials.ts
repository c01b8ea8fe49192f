import { createHash, timingSafeEqual } from 'node:crypto'

/** Whether a header `Authorization` names this user with this password (RFC 7617). How long it takes tells nothing about either. */
export function createCheck(user: string, password: string): (authorization: string | undefined) => boolean {
  const expected = digest(Buffer.from(`${user}:${password}`))
  return (authorization) => {
    const [, token = ''] = /^basic +([a-z0-9+/_-]+=*) *$/i.exec(authorization ?? '') ?? []
    return timingSafeEqual(digest(Buffer.from(token, 'base64')), expected)
  }
}

/** Of equal length whatever was sent. */
function digest(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}
