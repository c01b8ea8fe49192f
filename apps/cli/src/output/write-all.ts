/** Writes, and answers a promise when the reader is slower. */
export function writeAll(stream: NodeJS.WriteStream, data: string | Uint8Array): void | Promise<void> {
  if (data.length === 0 || stream.write(data)) return undefined
  return new Promise((resolve) => stream.once('drain', () => resolve()))
}
