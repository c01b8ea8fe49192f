/** Hands on what passes by, and tells how much that is. */
export async function* passing(
  content: AsyncIterable<Uint8Array>,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Uint8Array, void> {
  let bytes = 0
  for await (const chunk of content) {
    bytes += chunk.length
    onBytes(bytes)
    yield chunk
  }
}
