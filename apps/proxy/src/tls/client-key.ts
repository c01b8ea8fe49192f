/** The owner of one address of an IPv6 network has all of its /64. */
export function keyOfClient(address: string): string {
  if (!address.includes(':') || address.startsWith('::ffff:')) return address
  return `${address.split('::', 1)[0]!.split(':').slice(0, 4).join(':')}::`
}
