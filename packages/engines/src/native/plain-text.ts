import { isUtf8 } from 'node:buffer'

/**
 * Whether JSON takes each of these lines as it is: well-formed UTF-8 without quotes, backslashes and control characters. Asked
 * of every byte of a log, so it makes nothing that would have to be collected.
 */
export function isPlainText(bytes: Buffer): boolean {
  return !bytes.includes(quote) && !bytes.includes(backslash) && !hasControls(bytes) && isUtf8(bytes)
}

/** Four bytes at a time, which is three times as fast. */
function hasControls(bytes: Buffer): boolean {
  const { buffer, byteOffset, length } = bytes
  const isAligned = byteOffset % 4 === 0
  const words = isAligned ? new Int32Array(buffer, byteOffset, length >> 2) : noWords
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    // The highest bit of a byte stays where it was less than a space; at times also of the one behind such a byte.
    const isSuspect = ((word - eachIsSpace) & ~word & eachIsHighest) !== 0
    if (isSuspect && hasControlIn(bytes, 4 * at, 4 * at + 4)) return true
  }
  return hasControlIn(bytes, 4 * words.length, length)
}

function hasControlIn(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (bytes[at]! < space && bytes[at] !== newline) return true
  return false
}

const noWords = new Int32Array(0)
const eachIsSpace = 0x20202020
const eachIsHighest = 0x80808080
const newline = 0x0a
const space = 0x20
const quote = 0x22
const backslash = 0x5c
