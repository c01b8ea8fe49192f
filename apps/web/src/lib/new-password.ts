/** Without those that are taken for each other when read aloud: 0 O o, 1 l I. */
const characters = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789'

/** A password of about 116 bits. `random` fills an array with random bytes. */
export function newPassword(random: (bytes: Uint8Array<ArrayBuffer>) => unknown): string {
  const chosen: string[] = []
  // Bytes from here on would make the first characters likelier than the others.
  const fair = 256 - (256 % characters.length)
  while (chosen.length < 20) {
    const bytes = new Uint8Array(32)
    random(bytes)
    for (const byte of bytes) if (byte < fair && chosen.length < 20) chosen.push(characters[byte % characters.length]!)
  }
  return chosen.join('').replace(/.{5}(?=.)/g, '$&-')
}
