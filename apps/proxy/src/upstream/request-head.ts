/** How a request's body is delimited: its length as the client said it, `chunked`, or none at all. */
export type BodyFraming = { readonly length: string } | 'chunked' | null

/** Headers must not hold what delimits the message or belongs to a connection: that is written here alone. */
export function requestHead(method: string, path: string, headers: readonly string[], body: BodyFraming): string {
  let text = `${method} ${path} HTTP/1.1\r\n`
  for (let index = 0; index < headers.length; index += 2) text += `${headers[index]!}: ${headers[index + 1]!}\r\n`
  if (body === null) return `${text}connection: keep-alive\r\n\r\n`
  if (body === 'chunked') return `${text}transfer-encoding: chunked\r\nconnection: keep-alive\r\n\r\n`
  return `${text}content-length: ${body.length}\r\nconnection: keep-alive\r\n\r\n`
}

/** The same for a request that offers another protocol. */
export function upgradeHead(path: string, headers: readonly string[], protocol: string): string {
  let text = `GET ${path} HTTP/1.1\r\n`
  for (let index = 0; index < headers.length; index += 2) text += `${headers[index]!}: ${headers[index + 1]!}\r\n`
  return `${text}connection: Upgrade\r\nupgrade: ${protocol}\r\n\r\n`
}
