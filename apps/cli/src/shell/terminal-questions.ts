/**
 * Programs ask a terminal what it is and where its cursor stands, and it answers as if the answer were typed. Of output that
 * is shown again these questions are left out: their answers would reach a program that does not wait for them.
 */
export function withoutQuestions(bytes: Uint8Array): Uint8Array {
  if (!bytes.includes(0x1b)) return bytes
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
  return Buffer.from(text.replace(questions, ''), 'latin1')
}

/** DA, DSR, XTVERSION, DECRQM, colours (OSC), DECRQSS and XTGETTCAP, DECID. */
const questions =
  /\x1b\[[?>=]?[\d;]*(?:[cn]|\$p)|\x1b\[>\d*q|\x1b\][\d;]*;\?(?:\x07|\x1b\\)|\x1bP[+$]q[^\x1b]*\x1b\\|\x1bZ/g
