/** Whether everything is done in full. */
export const isSoak = process.env.STACKQUAY_SOAK === '1'
// The service refuses to start with a setting that it does not know.
delete process.env.STACKQUAY_SOAK

/** How often a test repeats what it does: few times in `npm test`, the full count with `STACKQUAY_SOAK=1`. */
export function rounds(short: number, soak: number): number {
  return isSoak ? soak : short
}
